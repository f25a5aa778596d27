# Builds keima from a checkout with Nix: nix-build deploy/nix. Needs nixpkgs with Rust 1.95 or later.
# `deploy/nix/check` evaluates it without nixpkgs.
{
  pkgs ? import <nixpkgs> { },
}:
let
  root = ../..;
  manifest = builtins.fromTOML (builtins.readFile (root + "/Cargo.toml"));
  inherit (manifest.workspace.package) version rust-version;
  # What the build reads. A change elsewhere, as in the book, builds nothing anew.
  parts = [
    ".cargo"
    "Cargo.lock"
    "Cargo.toml"
    "LICENSE-APACHE"
    "LICENSE-MIT"
    "crates"
    "examples"
    "proto"
    "tests"
  ];
  ours =
    path: _:
    let
      inside = pkgs.lib.removePrefix (toString root + "/") (toString path);
    in
    builtins.elem (builtins.head (pkgs.lib.splitString "/" inside)) parts;
in
assert pkgs.lib.assertMsg (pkgs.lib.versionAtLeast pkgs.rustc.version rust-version)
  "keima needs Rust ${rust-version} or later, this nixpkgs has ${pkgs.rustc.version}";
pkgs.rustPlatform.buildRustPackage {
  pname = "keima";
  inherit version;
  src = builtins.path {
    path = root;
    name = "keima-source";
    filter = ours;
  };
  cargoLock.lockFile = root + "/Cargo.lock";
  cargoBuildFlags = [
    "-p"
    "keima-cli"
  ];
  # The builds of GMP and jemalloc need m4 and make.
  nativeBuildInputs = [
    pkgs.gnum4
    pkgs.installShellFiles
  ];
  # The tests start clusters and take half an hour: scripts/test.
  doCheck = false;
  postInstall = ''
    $out/bin/keima man man1
    installManPage man1/*
    for shell in bash fish zsh; do $out/bin/keima completions $shell > keima.$shell; done
    installShellCompletion keima.bash keima.fish --zsh keima.zsh
  '';
  meta = {
    description = "Counts combinatorial objects exactly, on one machine or on a cluster";
    license = [
      pkgs.lib.licenses.mit
      pkgs.lib.licenses.asl20
    ];
    mainProgram = "keima";
    platforms = pkgs.lib.platforms.linux;
  };
}
