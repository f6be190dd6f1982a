package admin

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// TokenFile is the name of the token file in the runtime directory. Its lines
// are a scope and a token.
const TokenFile = "admin.tokens"

// maxTokenFile bounds what is read of it: it is some two hundred bytes.
const maxTokenFile = 4096

// Tokens are the tokens of one run of the host. It keeps digests only.
type Tokens struct {
	path    string
	digests [len(scopes)][sha256.Size]byte
	made    [len(scopes)]bool
}

// CreateTokens makes a new token for each scope and writes them to the runtime
// directory dir, readable by its owner only. The file of an earlier run is
// replaced. The directory is made if there is none; one that others may write to
// is refused, because they could put another file in its place.
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
	t := &Tokens{path: filepath.Join(dir, TokenFile)}
	var content bytes.Buffer
	for _, s := range granted {
		token := fmt.Sprintf("mcpd_%s_%s", s, rand.Text())
		t.digests[s], t.made[s] = sha256.Sum256([]byte(token)), true
		fmt.Fprintf(&content, "%s %s\n", s, token)
	}
	return t, replace(t.path, content.Bytes())
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

// Remove deletes the token file, at the end of the run.
func (t *Tokens) Remove() error { return os.Remove(t.path) }

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
// this machine, for a client of its admin listener.
func ReadToken(dir string, want Scope) (string, error) {
	path := filepath.Join(dir, TokenFile)
	f, err := os.Open(path)
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
