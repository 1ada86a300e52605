//! Tests that no files of a crate import each other in a circle.
//!
//! A path counts as an import of the deepest module on it that is a file. So a path through the re-export of a parent
//! is an import of the parent, and the declaration `mod child;` is none. An inline module belongs to its file. Test
//! modules are left out.

use std::collections::{BTreeMap, VecDeque};

use syn::visit::{self, Visit};

/// Modules and names from the root of a crate.
type ModulePath = Vec<String>;

/// The files of a crate by their modules.
type Files = BTreeMap<ModulePath, Source>;

use super::{Source, assert_none, code};

/// Collects the files that one file imports.
struct Imports<'a> {
    files: &'a Files,
    /// The module of the present item, which may be inline.
    here: ModulePath,
    found: Vec<ModulePath>,
}

impl Imports<'_> {
    /// Notes the file that a path names, if it is a file of the crate.
    fn note(&mut self, path: &[String]) {
        let mut full = self.here.clone();
        let mut rest = path;
        match path.first().map(String::as_str) {
            Some("crate" | "$crate") => (full, rest) = (Vec::new(), &path[1..]),
            Some("self") => rest = &path[1..],
            Some("super") => {
                while let Some(("super", below)) = rest.split_first().map(|(a, b)| (a.as_str(), b))
                {
                    full.pop();
                    rest = below;
                }
            }
            Some(first) => {
                full.push(first.to_owned());
                if !self.files.contains_key(&full) {
                    return;
                }
                rest = &path[1..];
            }
            None => return,
        }
        full.extend(rest.iter().cloned());
        while !self.files.contains_key(&full) {
            full.pop();
        }
        self.found.push(full);
    }

    fn note_tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.note_tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.note(&with(&name.ident)),
            syn::UseTree::Rename(rename) => self.note(&with(&rename.ident)),
            syn::UseTree::Glob(_) => self.note(before),
            syn::UseTree::Group(group) => {
                group
                    .items
                    .iter()
                    .for_each(|item| self.note_tree(before, item));
            }
        }
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    let is_cfg_test = |attribute: &syn::Attribute| {
        let condition = attribute.meta.require_list();
        attribute.path().is_ident("cfg")
            && condition.is_ok_and(|list| list.tokens.to_string() == "test")
    };
    attributes.iter().any(is_cfg_test)
}

impl<'ast> Visit<'ast> for Imports<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if is_test(&module.attrs) {
            return;
        }
        self.here.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.here.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.note_tree(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let names = path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string());
            self.note(&names.collect::<Vec<_>>());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        let tokens = invocation.tokens.to_string().replace(" :: ", "::");
        for word in tokens.split(|c: char| !(c.is_alphanumeric() || "_$:".contains(c))) {
            if word.contains("::") {
                self.note(&word.split("::").map(str::to_owned).collect::<Vec<_>>());
            }
        }
    }

    /// A visibility such as `pub(super)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

/// The folder of the crate of a file, with its slash, and the module of the file.
fn place(path: &str) -> Option<(&str, ModulePath)> {
    let at = path.find("src/")? + "src/".len();
    let below = path[at..].strip_suffix(".rs")?;
    let mut module: ModulePath = below.split('/').map(str::to_owned).collect();
    if matches!(module.last()?.as_str(), "mod" | "lib" | "main") {
        module.pop();
    }
    Some((&path[..at], module))
}

/// The shortest way from a file to itself, if there is one.
fn way_back<'a>(
    imports: &'a BTreeMap<ModulePath, Vec<ModulePath>>,
    from: &'a ModulePath,
) -> Option<Vec<&'a ModulePath>> {
    let mut before: BTreeMap<&ModulePath, &ModulePath> = BTreeMap::new();
    let mut waiting = VecDeque::from([from]);
    while let Some(file) = waiting.pop_front() {
        for next in imports[file].iter().filter(|next| *next != file) {
            if before.contains_key(next) {
                continue;
            }
            before.insert(next, file);
            if next == from {
                let mut way = vec![next];
                while way.len() == 1 || way[way.len() - 1] != from {
                    way.push(before[way[way.len() - 1]]);
                }
                way.reverse();
                return Some(way);
            }
            waiting.push_back(next);
        }
    }
    None
}

/// A line for each file that imports itself by a detour.
fn cycles(sources: Vec<Source>) -> Vec<String> {
    let mut crates: BTreeMap<String, Files> = BTreeMap::new();
    for source in sources {
        let Some((folder, module)) = place(&source.path) else {
            continue;
        };
        let folder = folder.to_owned();
        if !source.code().is_empty() {
            crates.entry(folder).or_default().insert(module, source);
        }
    }
    let mut found = Vec::new();
    for files in crates.into_values() {
        let imports: BTreeMap<ModulePath, Vec<ModulePath>> = files
            .iter()
            .map(|(module, source)| {
                let file = syn::parse_file(&source.text).expect(&source.path);
                let (here, found) = (module.clone(), Vec::new());
                let mut imports = Imports {
                    files: &files,
                    here,
                    found,
                };
                imports.visit_file(&file);
                (module.clone(), imports.found)
            })
            .collect();
        for way in imports.keys().filter_map(|file| way_back(&imports, file)) {
            let names: Vec<&str> = way
                .iter()
                .map(|module| files[*module].path.as_str())
                .collect();
            found.push(names.join(" -> "));
        }
    }
    found
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    assert_none("a file imports itself by a detour", &cycles(code()));
}

/// The cycles among files with these texts.
fn cycles_of(files: &[(&str, &str)]) -> Vec<String> {
    let source = |&(path, text): &(&str, &str)| Source {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    // Every module on a way has a file, so the root is always there.
    let root = source(&("src/lib.rs", "mod a; mod b;"));
    cycles(files.iter().map(source).chain([root]).collect())
}

#[test]
fn import_cycles_are_found_in_every_spelling() {
    for back in [
        "use crate::a::A;",
        "use super::a::{self, A as Other};",
        "use super::a::*;",
        "fn f(_: &crate::a::A) {}",
        "fn f() { println!(\"{}\", crate::a::A) }",
        "mod inner { use super::super::a::A; }",
        "mod inner { fn f() -> Vec<super::super::a::A> { vec![] } }",
    ] {
        let found = cycles_of(&[("src/a.rs", "use crate::b::B;"), ("src/b.rs", back)]);
        let expected = [
            "src/a.rs -> src/b.rs -> src/a.rs",
            "src/b.rs -> src/a.rs -> src/b.rs",
        ];
        assert_eq!(found, expected, "{back}");
    }
}

#[test]
fn import_cycles_are_found_through_reexports() {
    let files = [
        ("src/a/mod.rs", "mod one; mod two; pub use one::One;"),
        ("src/a/one.rs", "use super::two::Two;"),
        ("src/a/two.rs", "use super::One;"),
    ];
    assert_eq!(cycles_of(&files).len(), 3);
}

#[test]
fn module_lists_visibilities_and_tests_form_no_import_cycle() {
    let files = [
        ("src/a/mod.rs", "mod one; pub use one::One;"),
        (
            "src/a/one.rs",
            "pub(super) struct One; mod inner { use super::One; }",
        ),
        ("src/b.rs", "#[cfg(test)]\nmod tests { use crate::a::One; }"),
    ];
    assert_eq!(cycles_of(&files), [""; 0]);
}
