//! Who calls. Owners, tenants and roles come from here and never from an argument.

/// Whoever makes a call, as far as patterns care.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    user: Option<String>,
    tenant: Option<String>,
    roles: Vec<String>,
}

impl Caller {
    /// Somebody without a name: only what is public.
    pub fn nobody() -> Self {
        Caller::default()
    }

    /// A user, by the text of their id.
    pub fn user(id: impl Into<String>) -> Self {
        Caller { user: Some(id.into()), ..Caller::default() }
    }

    /// The same caller, inside a tenant.
    pub fn of_tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// The same caller, with one more role.
    pub fn with_role(mut self, role: impl Into<String>) -> Self {
        self.roles.push(role.into());
        self
    }

    /// The user's id.
    pub fn id(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The tenant's id.
    pub fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }

    /// The roles.
    pub fn roles(&self) -> &[String] {
        &self.roles
    }

    /// Whether the caller has a role.
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own == role)
    }
}
