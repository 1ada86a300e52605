//! Tells cargo that a new file in `migrations` changes the program, because the compiler watches only old files.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
