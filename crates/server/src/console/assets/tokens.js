// Tokens, and what operators did.

import { ask } from "./ask.js";
import { add, copier, fill, make, moment, say, trouble } from "./make.js";

const LIVES = [
  ["", "never"],
  ["3600", "in an hour"],
  ["86400", "in a day"],
  ["2592000", "in 30 days"],
  ["31536000", "in a year"],
];

function field(id, name, hint) {
  const input = make("input", {
    type: "text",
    id,
    autocomplete: "off",
    spellcheck: "false",
    placeholder: hint,
  });
  return { input, element: make("div", {}, make("label", { for: id }, name), input) };
}

function maker(made) {
  const user = field("token-user", "User", "whose calls they are");
  const tenant = field("token-tenant", "Tenant", "none");
  const roles = field("token-roles", "Roles", "admin, support");
  const label = field("token-label", "Label", "what it is for");
  const life = make(
    "select",
    { id: "token-life" },
    LIVES.map(([value, name]) => make("option", { value }, name)),
  );
  const operator = make("input", { type: "checkbox", id: "token-operator" });
  const slot = make("div", {});
  const form = make(
    "form",
    {
      class: "card new-token",
      onsubmit: async (event) => {
        event.preventDefault();
        try {
          const answer = await ask("/-/api/tokens", {
            user: user.input.value.trim(),
            tenant: tenant.input.value.trim(),
            roles: roles.input.value
              .split(",")
              .map((role) => role.trim())
              .filter(Boolean),
            label: label.input.value.trim(),
            operator: operator.checked,
            ...(life.value ? { expires_in: Number(life.value) } : {}),
          });
          form.reset();
          fill(
            slot,
            make(
              "div",
              { class: "once", role: "alert" },
              make("strong", {}, "Shown once. Copy it now."),
              make(
                "div",
                { class: "line" },
                make("code", { class: "secret", id: "new-token" }, answer.token),
                copier(() => answer.token, "Copy token"),
              ),
            ),
          );
          say("A token was made");
          made();
        } catch (problem) {
          fill(slot, trouble(problem));
        }
      },
    },
    make("h2", {}, "New token"),
    make(
      "div",
      { class: "fields" },
      user.element,
      tenant.element,
      roles.element,
      label.element,
      make("div", {}, make("label", { for: "token-life" }, "Ends"), life),
    ),
    make(
      "label",
      { class: "check", for: "token-operator" },
      operator,
      " Operator: looks after the server",
    ),
    make("div", { class: "go" }, make("button", { class: "primary" }, "Make token")),
    slot,
  );
  return form;
}

function stateOf(token) {
  if (token.revoked_at) return make("span", { class: "may bad" }, "revoked");
  if (token.expires_at && token.expires_at <= Date.now())
    return make("span", { class: "may bad" }, "ended");
  return make("span", { class: "may good" }, "valid");
}

/** Uses are kept by the hour. */
function used(token) {
  if (!token.used_at) return "not yet";
  return Date.now() - token.used_at < 3_600_000 ? "this hour" : moment(token.used_at);
}

function tokenTable(tokens, revoke) {
  if (tokens.length === 0) return make("p", { class: "empty" }, "No tokens yet.");
  const sorted = [...tokens].sort((left, right) => right.created_at - left.created_at);
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tokens" },
    make(
      "table",
      {},
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          ["token", "who", "made", "used", "ends", "state"].map((name) =>
            make("th", { scope: "col" }, name),
          ),
          make("td", {}),
        ),
      ),
      make(
        "tbody",
        {},
        sorted.map((token) =>
          make(
            "tr",
            { class: token.revoked_at ? "over" : undefined },
            make(
              "th",
              { scope: "row" },
              make("span", { class: "mono" }, token.id),
              token.label && make("small", {}, token.label),
            ),
            make(
              "td",
              {},
              [
                token.user,
                token.tenant && `of ${token.tenant}`,
                token.roles.length > 0 && token.roles.join(", "),
                token.operator && "operator",
              ]
                .filter(Boolean)
                .join(" · ") || "nobody",
            ),
            make("td", {}, moment(token.created_at)),
            make("td", {}, used(token)),
            make("td", {}, token.expires_at ? moment(token.expires_at) : "never"),
            make("td", {}, stateOf(token)),
            make("td", {}, !token.revoked_at && revoker(token, revoke)),
          ),
        ),
      ),
    ),
  );
}

/** Asks before it does what cannot be undone. */
function revoker(token, revoke) {
  const button = make(
    "button",
    { type: "button", class: "small", "aria-label": `Revoke ${token.id}` },
    "Revoke",
  );
  button.addEventListener("click", () => {
    if (button.dataset.sure) return revoke(token.id);
    button.dataset.sure = "yes";
    button.textContent = "Really?";
    button.classList.add("danger");
    setTimeout(() => {
      delete button.dataset.sure;
      button.textContent = "Revoke";
      button.classList.remove("danger");
    }, 4_000);
    return undefined;
  });
  return button;
}

function auditTable(actions) {
  if (actions.length === 0) return make("p", { class: "empty" }, "Nothing was done yet.");
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Audit log" },
    make(
      "table",
      { class: "audit" },
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          ["when", "who", "what", "to what"].map((name) => make("th", { scope: "col" }, name)),
        ),
      ),
      make(
        "tbody",
        {},
        actions.map((one) =>
          make(
            "tr",
            {},
            make("td", {}, moment(one.at)),
            make("td", { class: "mono" }, one.actor),
            make("td", {}, one.action),
            make("td", { class: "mono" }, one.subject ?? ""),
          ),
        ),
      ),
    ),
  );
}

export async function show(body) {
  const [list, log] = [make("div", {}), make("div", {})];
  const look = async () => {
    const [tokens, audit] = await Promise.all([ask("/-/api/tokens"), ask("/-/api/audit")]);
    fill(list, tokenTable(tokens.tokens, revoke));
    fill(log, auditTable(audit.actions));
  };
  async function revoke(id) {
    try {
      await ask(`/-/api/tokens/${encodeURIComponent(id)}/revoke`, {});
      say(`${id} was revoked`);
      await look();
    } catch (problem) {
      fill(list, trouble(problem));
    }
  }
  add(body, [
    make(
      "header",
      { class: "head" },
      make("h1", {}, "Tokens"),
      make(
        "p",
        { class: "lead" },
        "Who may call. A token is shown when it is made, and never again.",
      ),
    ),
    list,
    maker(look),
    make(
      "section",
      { "aria-labelledby": "audit-head" },
      make("h2", { id: "audit-head" }, "What operators did"),
      log,
    ),
  ]);
  await look();
}
