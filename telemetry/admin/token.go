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

// Scope is the permission that a token grants, or that a route requires.
type Scope uint8

// The scopes. Write and Chaos include Read but not each other: a caller who may reload a
// configuration may not therefore break things, nor the other way round.
const (
	Open  Scope = iota // needs no token
	Read               // read the state of the host
	Write              // change the state of the host
	Chaos              // break the host on purpose
)

var scopes = [...]string{Open: "open", Read: "read", Write: "write", Chaos: "chaos"}

func (s Scope) String() string { return scopes[s] }

func (s Scope) grants(need Scope) bool { return s == need || need == Read }

// TokenFile returns the name of the token file in the runtime directory for the listener at addr.
// Each line of the file has a scope and a token. The name contains only the port, which
// distinguishes the hosts of one user, because clients may call the machine by different names.
func TokenFile(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return "admin-" + port + ".tokens"
}

// maxTokenFile bounds the bytes that are read of the file, which has some two hundred.
const maxTokenFile = 4096

// Tokens are the tokens of one run of the host. After they are published only their digests are
// kept.
type Tokens struct {
	dir     string
	path    string // of the file; empty until it is written
	content []byte // of the file; nil after it is written
	digests [len(scopes)][sha256.Size]byte
	made    [len(scopes)]bool
}

// CreateTokens makes a new token for each scope. Publish writes them to the runtime directory
// dir. CreateTokens creates the directory if it does not exist. It refuses a directory that other
// users may write to, because they could replace the file.
func CreateTokens(dir string, granted ...Scope) (*Tokens, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	stat, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if mode := stat.Mode(); mode.Perm()&0o022 != 0 && mode&fs.ModeSticky == 0 {
		return nil, fmt.Errorf("runtime directory %s: mode %v lets others replace the token file", dir,
			mode.Perm())
	}
	t := &Tokens{dir: dir}
	for _, s := range granted {
		token := fmt.Sprintf("mcpd_%s_%s", s, rand.Text())
		t.digests[s], t.made[s] = sha256.Sum256([]byte(token)), true
		t.content = fmt.Appendf(t.content, "%s %s\n", s, token)
	}
	return t, nil
}

// Publish writes the tokens for the clients of the listener at addr, readable by the owner only.
// It replaces the file of an earlier run. The caller must have bound the port before. Publish
// does nothing when the listener is started again.
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

// replace atomically writes a file that no other user can read.
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

// Remove deletes the token file at the end of the run, if there is one.
func (t *Tokens) Remove() error {
	if t.path == "" {
		return nil
	}
	return os.Remove(t.path)
}

// scope returns the scope of a token. It takes the same time for every text, whichever token
// matches.
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

// ReadToken returns the token of a scope from the runtime directory of a host on this machine,
// for a client of the admin listener at addr.
func ReadToken(dir, addr string, want Scope) (string, error) {
	path := filepath.Join(dir, TokenFile(addr))
	f, err := regular.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf(
			"%w: a host writes it when it starts, for its own user, into its runtime directory", err,
		)
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
		return "", fmt.Errorf("token file %s: mode %v, %d bytes: not one that a host wrote", path,
			stat.Mode().Perm(), stat.Size())
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, token, _ := strings.Cut(lines.Text(), " "); name == want.String() && token != "" {
			return token, nil
		}
	}
	return "", fmt.Errorf("token file %s: no token of scope %s", path, want)
}
