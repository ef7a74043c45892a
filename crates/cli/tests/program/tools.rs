//! A client of `keyway mcp`, which starts it and speaks to it as others do: a line a message.

use crate::command;
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A program that offers tools, and has been greeted.
pub(crate) struct Tools {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Tools {
    pub(crate) fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Tools {
        let mut child = command(&[&["mcp"], arguments].concat())
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut tools = Tools { child, input, output: BufReader::new(output), asked: 0 };
        let greeting = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let greeted = tools.ask("initialize", greeting);
        assert_eq!(greeted["serverInfo"]["name"], "keyway", "{greeted}");
        assert!(greeted["capabilities"]["tools"].is_object(), "{greeted}");
        tools.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        tools
    }

    fn send(&mut self, message: &Json) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// All that is said to a request: a result, or an error.
    pub(crate) fn said(&mut self, method: &str, parameters: Json) -> Json {
        self.asked += 1;
        let id = self.asked;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters });
        self.send(&message);
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).unwrap() == 0 {
                let mut complaint = String::new();
                self.child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
                panic!("{method} is not answered: {complaint}");
            }
            let said: Json = serde_json::from_str(&line).unwrap();
            if said["id"] == id {
                return said;
            }
        }
    }

    /// What a request is answered.
    pub(crate) fn ask(&mut self, method: &str, parameters: Json) -> Json {
        let said = self.said(method, parameters);
        assert!(said["error"].is_null(), "{method}: {said}");
        said["result"].clone()
    }

    /// What a tool says, whether it does what it is asked or not.
    pub(crate) fn result(&mut self, tool: &str, arguments: Json) -> Json {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// What a tool answers.
    pub(crate) fn call(&mut self, tool: &str, arguments: Json) -> Json {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    /// Why a tool refuses.
    pub(crate) fn refused(&mut self, tool: &str, arguments: Json) -> String {
        reason(&self.result(tool, arguments)).unwrap_or_else(|| panic!("{tool} is answered"))
    }

    /// What there is.
    pub(crate) fn names(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
    }

    /// Hangs up, and answers the exit status.
    pub(crate) fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Why a tool refused, if that is what it said.
pub(crate) fn reason(result: &Json) -> Option<String> {
    let text = || result["content"][0]["text"].as_str().unwrap().to_string();
    (result["isError"] == true).then(text)
}
