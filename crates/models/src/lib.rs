//! The protocols as models: every order of every step, every crash, every late request.
//!
//! A simulation tries what chance brings; a model tries everything, of something smaller. What is
//! here says nothing of the code, unless somebody holds the two side by side: the head of each
//! model says which line stands for which.

pub mod tier1;
