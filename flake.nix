{
  description = "One button for coding agents: put my workspace back to how it was just before I sent that message";

  # It has Rust 1.95, which is what Cargo.toml asks for at least. flake.lock names the commit.
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-26.05";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      eachSystem = nixpkgs.lib.genAttrs systems;
      manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package;
    in
    {
      packages = eachSystem (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = "ckpt-hook";
            inherit (manifest) version;
            src = self;
            cargoLock.lockFile = ./Cargo.lock;
            cargoBuildFlags = [
              "--package"
              "ckpt-hook"
            ];
            # They need strace, other shells and the agents themselves: `just test` runs them.
            doCheck = false;
            nativeBuildInputs = [ pkgs.installShellFiles ];
            postInstall = ''
              $out/bin/ckpt-hook man --output man
              installManPage man/*
              for shell in bash fish zsh; do
                $out/bin/ckpt-hook completions $shell > ckpt-hook.$shell
                installShellCompletion ckpt-hook.$shell
              done
            '';
            meta = {
              inherit (manifest) description;
              license = with pkgs.lib.licenses; [
                mit
                asl20
              ];
              mainProgram = "ckpt-hook";
              platforms = systems;
            };
          };
        }
      );

      devShells = eachSystem (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.mkShell {
            inputsFrom = [ self.packages.${system}.default ];
            packages = [
              pkgs.just
              pkgs.clippy
              pkgs.rustfmt
            ];
          };
        }
      );
    };
}
