# Stands in for nixpkgs where `packaging/syntax` has Nix evaluate our flake: it has what the flake names, and builds nothing.
{
  outputs = _: rec {
    lib = {
      genAttrs =
        names: make:
        builtins.listToAttrs (
          map (name: {
            inherit name;
            value = make name;
          }) names
        );
      licenses = {
        mit = "mit";
        asl20 = "asl20";
      };
    };
    legacyPackages = lib.genAttrs [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ] (
      system:
      let
        # Looks at all that it is given, as a real build does.
        package =
          name: arguments:
          builtins.deepSeq arguments (derivation {
            inherit name system;
            builder = "/bin/sh";
          });
      in
      {
        inherit lib;
        rustPlatform.buildRustPackage =
          arguments:
          assert builtins.pathExists arguments.cargoLock.lockFile;
          assert builtins.pathExists (arguments.src + "/Cargo.toml");
          package "${arguments.pname}-${arguments.version}" (removeAttrs arguments [ "src" ]);
        mkShell = package "shell";
        installShellFiles = package "installShellFiles" { };
        just = package "just" { };
        clippy = package "clippy" { };
        rustfmt = package "rustfmt" { };
      }
    );
  };
}
