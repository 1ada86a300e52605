//! Makes cargo rebuild the program after a new file in `migrations`.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
