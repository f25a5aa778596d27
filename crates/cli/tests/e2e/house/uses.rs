//! Which file of a crate uses which: by `use`, and by paths in the code. What a file only hands on (`pub use`) counts for those
//! who take it. Tests and macros do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Words of a path: `["crate", "count", "Fit"]`.
type Words = Vec<String>;

/// Longest way from a name to where it is defined, over files that hand it on.
const MOST_STEPS: usize = 12;

/// A module that has a file of its own.
struct Module {
    file: PathBuf,
    children: Vec<String>,
    /// Names that `use` brings in, and where from.
    names: BTreeMap<String, Words>,
    /// Paths that the file itself uses.
    paths: Vec<Words>,
}

/// A crate's modules by their path.
struct Crate(BTreeMap<Words, Module>);

/// Files of a crate that use each other, over others or at once.
pub(super) fn circles(root: &Path) -> Vec<Vec<PathBuf>> {
    let mut modules = BTreeMap::new();
    add_module(&mut modules, Vec::new(), root.to_owned());
    let modules = Crate(modules);
    let uses: BTreeMap<&Words, BTreeSet<&Words>> = modules.0.keys().map(|at| (at, modules.used_by(at))).collect();
    let reached: BTreeMap<&Words, BTreeSet<&Words>> = uses.keys().map(|&at| (at, reached_from(at, &uses))).collect();
    let circle = |at: &&Words| reached[at].iter().copied().filter(|other| reached[other].contains(*at)).collect();
    let circles: BTreeSet<Vec<&Words>> = reached.keys().map(circle).collect();
    circles.into_iter().map(|circle| circle.into_iter().map(|at| modules.0[at].file.clone()).collect()).collect()
}

fn reached_from<'a>(from: &'a Words, uses: &BTreeMap<&'a Words, BTreeSet<&'a Words>>) -> BTreeSet<&'a Words> {
    let (mut reached, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(at) = left.pop() {
        left.extend(uses[at].iter().filter(|next| reached.insert(**next)));
    }
    reached
}

fn add_module(modules: &mut BTreeMap<Words, Module>, path: Words, file: PathBuf) {
    let text = std::fs::read_to_string(&file).unwrap();
    let stem = file.file_stem().unwrap().to_str().unwrap();
    let has_own_folder = ["lib", "main", "mod"].contains(&stem);
    let folder = if has_own_folder { file.with_file_name("") } else { file.with_extension("") };
    let module = module(file, &tokens(&text));
    for child in &module.children {
        let files = [folder.join(format!("{child}.rs")), folder.join(child).join("mod.rs")];
        let file = files.into_iter().find(|file| file.exists()).unwrap_or_else(|| panic!("no file of {child}"));
        add_module(modules, [&path[..], std::slice::from_ref(child)].concat(), file);
    }
    modules.insert(path, module);
}

/// Identifiers, `::` and single signs, without comments and texts.
fn tokens(text: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let until = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let hashes = rest[word..].len() - rest[word..].trim_start_matches('#').len();
        let mut escaped = false;
        let mut ends_text = |c: char| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        };
        let (len, counts) = match first {
            'r' | 'b' if word <= 2 && rest[..word].ends_with('r') && rest[word + hashes..].starts_with('"') => {
                (until(&format!("\"{}", "#".repeat(hashes)), word + hashes + 1), false)
            }
            '"' => (rest[1..].find(&mut ends_text).map_or(rest.len(), |at| at + 2), false),
            '\'' if rest.starts_with("'\\") => (until("'", 3), false),
            '\'' if rest.chars().nth(2) == Some('\'') => (until("'", 1), false),
            _ if rest.starts_with("//") => (until("\n", 0), false),
            _ if rest.starts_with("::") => (2, true),
            _ => (word.max(first.len_utf8()), !first.is_whitespace()),
        };
        found.extend(counts.then_some(&rest[..len]));
        rest = &rest[len..];
    }
    found
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Reads a file up to its tests.
fn module(file: PathBuf, tokens: &[&str]) -> Module {
    let mut module = Module { file, children: Vec::new(), names: BTreeMap::new(), paths: Vec::new() };
    let mut at = 0;
    while at < tokens.len() {
        let until_semicolon = || tokens[at..].iter().position(|token| *token == ";").unwrap_or(tokens.len() - at);
        match &tokens[at..] {
            ["cfg", "(", "test", ")", "]", "mod", _, "{", ..] => break,
            ["cfg", "(", "test", ")", "]", "mod" | "use", ..] => at += until_semicolon(),
            ["mod", name, ";", ..] => {
                module.children.push((*name).to_owned());
                at += 3;
            }
            ["use", ..] => {
                let end = at + until_semicolon();
                let mut found = Vec::new();
                add_uses(&mut found, &[], &tokens[at + 1..end]);
                let hands_on = at > 0 && ["pub", ")"].contains(&tokens[at - 1]);
                for (name, path) in found {
                    module.paths.extend((!hands_on).then(|| path.clone()));
                    module.names.insert(name, path);
                }
                at = end;
            }
            [word, "::", ..] if is_word(word) => {
                let mut path = vec![(*word).to_owned()];
                at += 1;
                while let ["::", next, ..] = tokens[at..]
                    && is_word(next)
                {
                    path.push(next.to_owned());
                    at += 2;
                }
                module.paths.push(path);
            }
            _ => at += 1,
        }
    }
    module
}

/// Adds what a tree of `use` names: `a::{b, c as d}` is `b` from `a::b`, and `d` from `a::c`.
fn add_uses(found: &mut Vec<(String, Words)>, before: &[String], tree: &[&str]) {
    let mut depth = 0;
    let is_comma = |token: &&str| {
        depth += i32::from(*token == "{") - i32::from(*token == "}");
        *token == "," && depth == 0
    };
    for part in tree.split(is_comma) {
        let plain = part.iter().take_while(|token| is_word(token) || **token == "::").filter(|token| is_word(token));
        let mut path: Words = before.iter().cloned().chain(plain.map(|token| (*token).to_owned())).collect();
        if let Some(open) = part.iter().position(|token| *token == "{") {
            add_uses(found, &path, &part[open + 1..part.len() - 1]);
            continue;
        }
        let alias = path.iter().position(|word| word == "as").map(|at| path.split_off(at).swap_remove(1));
        path.pop_if(|last| last == "self" && !before.is_empty());
        if let Some(name) = alias.or_else(|| path.last().cloned()) {
            found.push((name, path));
        }
    }
}

impl Crate {
    /// Modules that the one at this path uses.
    fn used_by(&self, at: &Words) -> BTreeSet<&Words> {
        self.0[at].paths.iter().filter_map(|path| self.home(at, path, MOST_STEPS)).filter(|home| *home != at).collect()
    }

    /// The module that defines what `path` names in the module `at`; `None` for other crates.
    fn home(&self, at: &[String], path: &[String], steps: usize) -> Option<&Words> {
        let (first, after) = path.split_first()?;
        let (mut here, mut rest) = match first.as_str() {
            "crate" => (Vec::new(), after),
            "self" => (at.to_vec(), after),
            "super" => {
                let up = path.iter().take_while(|word| *word == "super").count();
                (at[..at.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            child if self.0[at].children.iter().any(|known| known == child) => (at.to_vec(), path),
            name => {
                let from = self.0[at].names.get(name).filter(|from| steps > 0 && from[..] != *path)?;
                return self.home(at, &[from, after].concat(), steps - 1);
            }
        };
        while let Some((child, after)) = rest.split_first().filter(|(child, _)| self.0[&here].children.contains(child))
        {
            here.push(child.clone());
            rest = after;
        }
        match rest.split_first().and_then(|(name, after)| Some((self.0[&here].names.get(name)?, after))) {
            Some((from, after)) if steps > 0 => self.home(&here, &[from, after].concat(), steps - 1),
            _ => self.0.get_key_value(&here).map(|(home, _)| home),
        }
    }
}
