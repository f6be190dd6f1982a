package admin

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"mcpd/internal/regular"
)

// Scope is what a token allows, or what a route asks for.
type Scope uint8

// Scopes. Write and Chaos include Read but not one another: who may reload a
// configuration may not therefore break things, nor the other way round.
const (
	Open  Scope = iota // needs no token
	Read               // see
	Write              // change what the host does
	Chaos              // break it on purpose
)

var scopes = [...]string{Open: "open", Read: "read", Write: "write", Chaos: "chaos"}

func (s Scope) String() string { return scopes[s] }

func (s Scope) grants(need Scope) bool { return s == need || need == Read }

// TokenFile is the name in the runtime directory of the token file of the
// listener at addr, whose lines are a scope and a token. It is the port that
// tells hosts of one user apart: it is the same by whatever name a client calls
// the machine.
func TokenFile(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return "admin-" + port + ".tokens"
}

// maxTokenFile bounds what is read of it: it is some two hundred bytes.
const maxTokenFile = 4096

// Tokens are the tokens of one run of the host. It keeps digests only, once they
// are published.
type Tokens struct {
	dir     string
	path    string // of the file; empty until it is there
	content []byte // of the file, until it is there
	digests [len(scopes)][sha256.Size]byte
	made    [len(scopes)]bool
}

// CreateTokens makes a new token for each scope, for Publish to write to the
// runtime directory dir. The directory is made if there is none; one that others
// may write to is refused, because they could put another file in its place.
func CreateTokens(dir string, granted ...Scope) (*Tokens, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	stat, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if mode := stat.Mode(); mode.Perm()&0o022 != 0 && mode&fs.ModeSticky == 0 {
		return nil, fmt.Errorf("runtime directory %s: mode %v lets others replace the token file", dir, mode.Perm())
	}
	t := &Tokens{dir: dir}
	for _, s := range granted {
		token := fmt.Sprintf("mcpd_%s_%s", s, rand.Text())
		t.digests[s], t.made[s] = sha256.Sum256([]byte(token)), true
		t.content = fmt.Appendf(t.content, "%s %s\n", s, token)
	}
	return t, nil
}

// Publish writes the tokens for the clients of the listener at addr, readable by
// the owner only. The file of an earlier run is replaced. It is called when the
// port is ours, and does nothing when the listener is started again.
func (t *Tokens) Publish(addr string) error {
	if t == nil || t.path != "" {
		return nil
	}
	path := filepath.Join(t.dir, TokenFile(addr))
	if err := replace(path, t.content); err != nil {
		return fmt.Errorf("admin tokens: %w", err)
	}
	t.path, t.content = path, nil
	return nil
}

// replace writes a file that nobody else can read, at once or not at all.
func replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tokens-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Remove deletes the token file, if there is one, at the end of the run.
func (t *Tokens) Remove() error {
	if t.path == "" {
		return nil
	}
	return os.Remove(t.path)
}

// scope returns the scope of a token. It takes the same time whatever is sent,
// and for whichever token matches.
func (t *Tokens) scope(token string) (found Scope, ok bool) {
	if t == nil {
		return Open, false
	}
	sent := sha256.Sum256([]byte(token))
	for s := range t.digests {
		if subtle.ConstantTimeCompare(sent[:], t.digests[s][:]) == 1 && t.made[s] {
			found, ok = Scope(s), true
		}
	}
	return found, ok
}

// ReadToken returns the token of a scope from the runtime directory of a host on
// this machine, for a client of its admin listener at addr.
func ReadToken(dir, addr string, want Scope) (string, error) {
	path := filepath.Join(dir, TokenFile(addr))
	f, err := regular.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%w: a host writes it when it starts, for its own user, into its runtime directory", err)
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return "", err
	}
	if stat.Mode().Perm()&0o077 != 0 || stat.Size() > maxTokenFile {
		return "", fmt.Errorf("token file %s: mode %v, %d bytes: not one that a host wrote", path, stat.Mode().Perm(), stat.Size())
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, token, _ := strings.Cut(lines.Text(), " "); name == want.String() && token != "" {
			return token, nil
		}
	}
	return "", fmt.Errorf("token file %s: no token of scope %s", path, want)
}
