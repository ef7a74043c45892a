//! An append-only file that ends within a batch: the server that loads it has all of the batch or
//! nothing of it, and everything before it.

use crate::app::{App, item};
use crate::support::{in_runtime, store};
use data::store::Store;
use serde_json::json;
use servers::redis::RedisServer;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// All keys, in their order: the type of each, when it ends, and what it holds. The server gives
/// the fields of a large Hash in any order.
const ALL: &str = "
    local names, all = redis.call('KEYS', '*'), {}
    table.sort(names)
    for number, name in ipairs(names) do
      local form, held = redis.call('TYPE', name)['ok'], {}
      if form == 'string' then held = { redis.call('GET', name) }
      elseif form == 'zset' then held = redis.call('ZRANGE', name, 0, -1, 'WITHSCORES')
      elseif form == 'set' then held = redis.call('SMEMBERS', name)
      else
        local fields = redis.call('HGETALL', name)
        for at = 1, #fields, 2 do held[#held + 1] = fields[at] .. '=' .. fields[at + 1] end
      end
      if form ~= 'zset' then table.sort(held) end
      local ends = string.format('%.0f', redis.call('PEXPIRETIME', name))
      local hash = redis.sha1hex(table.concat(held, ' '))
      all[number] = name .. ' ' .. form .. ' ' .. ends .. ' ' .. hash
    end
    return all";

/// Everything the server holds.
fn held(server: &RedisServer) -> String {
    server.cli(&["EVAL", ALL, "0"])
}

/// Where a server appends what it is told.
fn appended(server: &RedisServer) -> PathBuf {
    server.folder().join("appendonlydir")
}

/// The file that it appends to now.
fn last_file(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|file| file.to_string_lossy().contains(".incr.")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

/// What a server left: its folder of files, and the last of them up to each of its bytes.
struct Left {
    folder: PathBuf,
    name: PathBuf,
    bytes: Vec<u8>,
}

impl Left {
    /// Starts a server on a copy of the files, the last one cut to so many bytes.
    fn loaded_by(&self, server: &mut RedisServer, length: usize) {
        server.kill();
        let to = appended(server);
        fs::remove_dir_all(&to).unwrap();
        fs::create_dir(&to).unwrap();
        for file in fs::read_dir(&self.folder).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
        fs::write(to.join(&self.name), &self.bytes[..length]).unwrap();
        server.restart();
    }
}

#[test]
fn a_truncated_append_only_file_never_tears_a_batch() {
    let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let file = last_file(&appended(&server));
    let length = || usize::try_from(fs::metadata(&file).unwrap().len()).unwrap();
    let change = || json!({"item_id": "i1", "name": "Other", "shelf": "b", "price": 7});
    let (before, begins) = in_runtime(async {
        let app = App::open(store(&server).await as Arc<dyn Store>).await.unwrap();
        for (id, shelf) in [("i1", "a"), ("i2", "a"), ("i3", "b")] {
            app.call("add_item", item(id, shelf, 1)).await.unwrap();
        }
        app.call("like", json!({"post": "p", "reader": "r", "note": ""})).await.unwrap();
        let before = (held(&server), length());
        // The row, its place on a shelf and its claim of a name, old and new.
        app.call("change_item", change()).await.unwrap();
        before
    });
    let (after, ends) = (held(&server), length());
    assert_ne!(before, after);
    server.kill();
    let folder = appended(&server);
    let name = PathBuf::from(file.file_name().unwrap());
    let left = Left { folder, name, bytes: fs::read(&file).unwrap() };
    let mut copy = RedisServer::start(&["--appendonly", "yes", "--aof-load-truncated", "yes"]);
    for length in begins..=ends {
        left.loaded_by(&mut copy, length);
        let found = held(&copy);
        let is_whole = match length {
            _ if length == begins => found == before,
            _ if length == ends => found == after,
            _ => found == before || found == after,
        };
        let cut = format!("{} of {} bytes", length - begins, ends - begins);
        assert!(is_whole, "{cut}:\n{found}\nbefore:\n{before}\nafter:\n{after}");
    }
    println!("a batch of {} bytes was cut behind each of them", ends - begins);
    left.loaded_by(&mut copy, ends - 1);
    in_runtime(async {
        let app = App::open(store(&copy).await as Arc<dyn Store>).await.unwrap();
        // Three items with two entries each, a like and its count.
        assert_eq!(app.scrub().await, (5, 6));
        app.call("change_item", change()).await.unwrap();
        let found = app.call("item_named", json!({"name": "Other"})).await.unwrap();
        assert_eq!(found["row"]["shelf"], "b");
        assert_eq!(app.scrub().await, (5, 6));
    });
}
