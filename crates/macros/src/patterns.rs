//! A function for each pattern: required arguments are its parameters, the others are methods of
//! what it returns, and `.await` makes the call.

use crate::answers;
use crate::arguments::{self, is_clearable};
use crate::code::{Code, sentence, words};
use crate::names::{Names, identifier, unmarked};
use crate::naming::Naming;
use crate::rows;
use keyspace::model::{
    Allow, Argument, ArgumentRole, Keyspace, Pattern, StepAction, StoreKind, Verb,
};
use keyspace::plan::Plan;

/// A pattern with the names of everything that is written for it.
pub struct Function<'a> {
    keyspace: &'a Keyspace,
    pattern: &'a Pattern,
    plan: &'a Plan,
    /// Its place among the keyspace's patterns.
    position: usize,
    /// What the call is answered.
    answer: String,
    /// The struct of a row that shows some members only.
    partial: Option<String>,
    /// The struct of what an `atomic` is answered.
    results: Option<String>,
    /// The struct of a row of a call with `many`, for each argument that is rows.
    each: Vec<(String, String)>,
    /// The struct that takes optional arguments.
    builder: Option<String>,
}

/// Whether a pattern can be called from Rust: not inside an `atomic` only, and not of a history.
pub fn is_callable(pattern: &Pattern) -> bool {
    pattern.allow != Allow::Step && !is_of_history(pattern)
}

/// Whether a pattern, or a step of it, concerns a history.
pub fn is_of_history(pattern: &Pattern) -> bool {
    let own = pattern.verb.is_history()
        || pattern.target.as_ref().is_some_and(|target| target.collection.history.is_some());
    own || pattern.steps.iter().any(|step| match &step.action {
        StepAction::Run(run) => is_of_history(run),
        StepAction::Check { target, .. } => target.collection.history.is_some(),
    })
}

impl<'a> Function<'a> {
    /// Names what a pattern needs.
    pub fn new(
        naming: &mut Naming,
        keyspace: &'a Keyspace,
        plan: &'a Plan,
        position: usize,
    ) -> Self {
        let pattern = plan.pattern.as_ref();
        let is_partial = pattern.fields.is_some() && pattern.target.is_some();
        let partial = is_partial.then(|| naming.of_pattern(pattern, "Row"));
        let is_atomic = pattern.verb == Verb::Atomic;
        let results = is_atomic.then(|| naming.of_pattern(pattern, "Results"));
        let mut each = Vec::new();
        for argument in &pattern.arguments {
            if let ArgumentRole::Rows(of) = &argument.role
                && !is_single(of)
            {
                let name = naming.of_pattern(pattern, "Each");
                each.push((argument.name.clone(), name));
            }
        }
        let has_optional = pattern.arguments.iter().any(|argument| !argument.required);
        let builder = has_optional.then(|| naming.of_pattern(pattern, "Call"));
        let answer = match (&results, &pattern.target) {
            (Some(results), _) => results.clone(),
            (None, Some(target)) => {
                answers::answer(keyspace, naming, pattern, target, partial.as_deref())
            }
            (None, None) => "::keyway::Answer".to_string(),
        };
        Function { keyspace, pattern, plan, position, answer, partial, results, each, builder }
    }

    /// The types that belong to the function.
    pub fn types(&self, code: &mut Code, naming: &Naming) {
        if let Some(partial) = &self.partial {
            rows::partial(code, naming, self.pattern, partial);
        }
        if let Some(results) = &self.results {
            answers::results(code, naming, self.keyspace, self.pattern, results);
        }
        for argument in &self.pattern.arguments {
            let named = self.each.iter().find(|(name, _)| *name == argument.name);
            if let (ArgumentRole::Rows(of), Some((_, name))) = (&argument.role, named) {
                self.each(code, naming, name, of);
            }
        }
        if let Some(builder) = &self.builder {
            self.builder(code, naming, builder);
        }
    }

    /// The function itself.
    pub fn function(&self, code: &mut Code, naming: &Naming) {
        code.docs(self.docs());
        code.line("#[allow(dead_code, clippy::too_many_arguments)]");
        let mut taken = Names::default();
        let (mut signature, mut given, mut given_last) = (Vec::new(), Vec::new(), 0);
        for argument in &self.pattern.arguments {
            if !argument.required {
                given.push("::keyway::typed::Given::Missing".to_string());
                continue;
            }
            let name = taken.claim(&[identifier(&argument.name)]);
            let (rust, expression) = self.required(naming, argument, &name);
            signature.push(format!("{name}: {rust}"));
            given.push(expression);
            given_last = given.len();
        }
        // What is left out at the end need not be said.
        given.truncate(given_last);
        let call = format!("::keyway::typed::TypedCall<{}>", self.answer);
        let returned = self.builder.as_ref().unwrap_or(&call);
        let name = identifier(&self.pattern.name.value);
        match signature.as_slice() {
            [] => code.open(format!("pub fn {name}(&self) -> {returned} {{")),
            many => {
                code.open(format!("pub fn {name}("));
                code.line("&self,");
                many.iter().for_each(|one| code.line(format!("{one},")));
                code.turn(&format!(") -> {returned} {{"));
            }
        }
        let (before, after) = match &self.builder {
            Some(builder) => (format!("{builder}("), ")"),
            None => (String::new(), ""),
        };
        match given.as_slice() {
            [] => {
                code.line(format!("{before}self.0.call({}, ::std::vec![]){after}", self.position))
            }
            given => {
                code.open(format!("{before}self.0.call({}, ::std::vec![", self.position));
                given.iter().for_each(|one| code.line(format!("{one},")));
                code.close(&format!("]){after}"));
            }
        }
        code.close("}");
        code.line("");
    }

    fn required(&self, naming: &Naming, argument: &Argument, name: &str) -> (String, String) {
        let ArgumentRole::Rows(of) = &argument.role else {
            let parameter = arguments::required(naming, &argument.name, &argument.argument_type);
            return (parameter.rust.clone(), parameter.given(name));
        };
        let iterator = |item: &str| format!("impl ::std::iter::IntoIterator<Item = {item}>");
        match (of.as_slice(), self.each.iter().find(|(known, _)| *known == argument.name)) {
            (_, Some((_, each))) => (iterator(each), format!("::keyway::typed::rows({name})")),
            ([only], None) => {
                let inner = arguments::required(naming, &only.name, &only.argument_type);
                let given = inner.given("one");
                (iterator(&inner.rust), format!("::keyway::typed::singles({name}, |one| {given})"))
            }
            (_, None) => (iterator("()"), format!("::keyway::typed::rows({name})")),
        }
    }

    /// The struct that takes optional arguments.
    fn builder(&self, code: &mut Code, naming: &Naming, builder: &str) {
        let name = &self.pattern.name.value;
        let answer = &self.answer;
        code.docs([format!("A call of `{name}`: `.await` makes it.")]);
        code.line("#[allow(dead_code)]");
        code.line("#[derive(Debug)]");
        code.line("#[must_use = \"a call is made when it is awaited\"]");
        code.line(format!("pub struct {builder}(::keyway::typed::TypedCall<{answer}>);"));
        code.line("");
        code.line("#[allow(dead_code)]");
        code.open(format!("impl {builder} {{"));
        let mut taken = Names::default();
        let optional = self.pattern.arguments.iter().enumerate().filter(|(_, a)| !a.required);
        for (position, argument) in optional {
            let method = taken.claim(&[identifier(&argument.name)]);
            setter(code, naming, position, argument, &method);
            if is_clearable(argument) {
                let clear = taken.claim(&[format!("clear_{}", unmarked(&method))]);
                code.docs([format!("Clears `{}`: it is null afterwards.", argument.name)]);
                code.open(format!("pub fn {clear}(self) -> Self {{"));
                code.line(format!("{builder}(self.0.with({position}, ::keyway::typed::null()))"));
                code.close("}");
                code.line("");
            }
        }
        self.extras(code, &mut taken, builder);
        code.close("}");
        code.line("");
        code.open(format!("impl ::std::future::IntoFuture for {builder} {{"));
        code.line(format!("type Output = ::keyway::Result<{answer}>;"));
        code.line(format!("type IntoFuture = ::keyway::typed::Answering<{answer}>;"));
        code.line("");
        code.open("fn into_future(self) -> Self::IntoFuture {");
        code.line("::std::future::IntoFuture::into_future(self.0)");
        code.close("}");
        code.close("}");
        code.line("");
    }

    /// What a call has beside its arguments; an argument of the same name goes first.
    fn extras(&self, code: &mut Code, taken: &mut Names, builder: &str) {
        if self.pattern.verb == Verb::List {
            let item = self.answer.trim_start_matches("::keyway::Page<");
            let item = item.strip_suffix('>').unwrap_or(item);
            let pages = taken.claim(&["pages".to_string(), "pages_".to_string()]);
            code.docs(["All pages from here on, one call each."]);
            code.open(format!("pub fn {pages}(self) -> ::keyway::Pages<{item}> {{"));
            code.line("self.0.pages()");
            code.close("}");
        } else if !self.pattern.verb.is_read() {
            let id = taken.claim(&["commit_id".to_string(), "commit_id_".to_string()]);
            code.docs(["With an id of the caller's choice: the same id is never applied twice."]);
            code.open(format!("pub fn {id}(self, id: ::keyway::CommitId) -> Self {{"));
            code.line(format!("{builder}(self.0.commit_id(id))"));
            code.close("}");
        }
    }

    /// The struct of a row of a call with `many`.
    fn each(&self, code: &mut Code, naming: &Naming, name: &str, of: &[Argument]) {
        let mut taken = Names::default();
        let fields: Vec<(String, arguments::Parameter, &Argument)> = of
            .iter()
            .map(|argument| {
                let field = taken.claim(&[identifier(&argument.name)]);
                (field, arguments::field(naming, argument), argument)
            })
            .collect();
        code.docs([format!("A row of a call of `{}`.", self.pattern.name.value)]);
        code.line("#[allow(dead_code)]");
        code.line("#[derive(Clone, Debug, PartialEq)]");
        code.open(format!("pub struct {name} {{"));
        for (field, parameter, argument) in &fields {
            let left_out = if argument.required { "" } else { "; `None` leaves it out" };
            code.docs([format!("`{}: {}`{left_out}", argument.name, argument.argument_type)]);
            code.line(format!("pub {field}: {},", parameter.rust));
        }
        code.close("}");
        code.line("");
        code.open(format!("impl ::keyway::typed::Each for {name} {{"));
        code.open("fn given(self) -> ::std::vec::Vec<::keyway::typed::Given> {");
        code.open("::std::vec![");
        for (field, parameter, _) in &fields {
            code.line(format!("{},", parameter.given(&format!("self.{field}"))));
        }
        code.close("]");
        code.close("}");
        code.close("}");
        code.line("");
    }

    /// What it is for, how it goes, what it may cost, who may call it.
    fn docs(&self) -> Vec<String> {
        let pattern = self.pattern;
        let mut docs = Vec::new();
        docs.push(match &pattern.about {
            Some(about) => sentence(about),
            None => format!("The pattern `{}`.", pattern.name.value),
        });
        docs.extend(pattern.notes.as_deref().map(words));
        let verb = pattern.verb;
        docs.push(match &pattern.target {
            Some(target) => {
                let template = target.key().template(self.keyspace.separator);
                format!(
                    "`{verb}` on `{}`, by `{template}`. Allowed: {}.",
                    target.text(),
                    pattern.allow
                )
            }
            None => {
                let steps: Vec<&str> = pattern.steps.iter().map(|s| s.name.as_str()).collect();
                format!("`{verb}` of `{}`. Allowed: {}.", steps.join("`, `"), pattern.allow)
            }
        });
        docs.extend(bound(self.plan));
        docs
    }
}

/// A method that gives an optional argument.
fn setter(code: &mut Code, naming: &Naming, position: usize, argument: &Argument, method: &str) {
    let parameter = arguments::optional(naming, argument);
    let variable = if method == "self_" { "value" } else { method };
    code.docs([match argument.role {
        ArgumentRole::Version => "Only if the row still has this version.".to_string(),
        _ => format!("`{}: {}`", argument.name, argument.argument_type),
    }]);
    code.open(format!("pub fn {method}(self, {variable}: {}) -> Self {{", parameter.rust));
    code.line(format!("Self(self.0.with({position}, {}))", parameter.given(variable)));
    code.close("}");
    code.line("");
}

/// The most a call costs on an embedded store, in a sentence.
fn bound(plan: &Plan) -> Option<String> {
    let bounds = plan.answer(StoreKind::Engine).bounds()?;
    let count = |number: u64, one: &str| match number {
        1 => format!("1 {one}"),
        more => format!("{more} {one}s"),
    };
    let trips = count(bounds.round_trips, "round trip");
    let read = count(bounds.rows_read, "row");
    let written = count(bounds.rows_written, "row");
    let attempts = match bounds.attempts {
        1 => String::new(),
        more => format!(", and as much again for each of {more} attempts"),
    };
    Some(format!("At most {trips}, {read} read, {written} written{attempts} (embedded stores)."))
}

/// Whether the rows of a call have one argument, so that its values are given as they are.
fn is_single(of: &[Argument]) -> bool {
    matches!(of, [only] if only.required)
}
