# To be put into a tap, as Formula/postern.rb.
class Postern < Formula
  desc "Read-only PostgreSQL tools and document answers for language models"
  homepage "@repository@"
  version "@version@"
  license "MIT"

  on_macos do
    on_arm do
      url "@release@/postern-@version@-aarch64-apple-darwin.tar.gz"
      sha256 "@sha256 postern-@version@-aarch64-apple-darwin.tar.gz@"
    end
    on_intel do
      url "@release@/postern-@version@-x86_64-apple-darwin.tar.gz"
      sha256 "@sha256 postern-@version@-x86_64-apple-darwin.tar.gz@"
    end
  end

  on_linux do
    on_arm do
      url "@release@/postern-@version@-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@sha256 postern-@version@-aarch64-unknown-linux-gnu.tar.gz@"
    end
    on_intel do
      url "@release@/postern-@version@-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@sha256 postern-@version@-x86_64-unknown-linux-gnu.tar.gz@"
    end
  end

  def install
    bin.install "bin/postern"
    man1.install "share/man/man1/postern.1"
    bash_completion.install "share/bash-completion/completions/postern"
    zsh_completion.install "share/zsh/site-functions/_postern"
    fish_completion.install "share/fish/vendor_completions.d/postern.fish"
    doc.install Dir["share/doc/postern/*"]
  end

  test do
    assert_match "postern #{version} ", shell_output("#{bin}/postern -version")
  end
end
