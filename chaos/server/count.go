package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// counter counts calls. In a state folder it appends a byte to a file for each call, so that two
// processes that count into the same file lose none.
type counter struct {
	mu sync.Mutex // guards n
	n  int64      // the count of a server without a state folder
}

// add counts one call and returns the number of calls so far.
func (c *counter) add(dir string) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if dir != "" {
		return appended(dir, "effects", ".")
	}
	c.n++
	return c.n, nil
}

// appended appends text to a file of the state in one write and returns the new length of the file.
func appended(dir, name, text string) (int64, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// effect matches the name of an effect: its owner, a hyphen, and an id.
var effect = regexp.MustCompile(`^([a-z0-9]{1,32})-[a-z0-9]{1,32}$`)

// owner matches the name of an owner of effects.
var owner = regexp.MustCompile(`^[a-z0-9]{1,32}$`)

// maxTwice bounds the number of names in Effects.Twice.
const maxTwice = 16

// Effects summarizes the effects of an owner's calls. The tool count answers with it as JSON.
type Effects struct {
	Done      uint64   `json:"done"`      // all together
	Different uint64   `json:"different"` // by their names
	Twice     []string `json:"twice"`     // names of some effects that happened more than once
}

// count is the tool. The effects of one owner are lines of a file. Each is written before the call
// is answered, so that it persists whatever happens to the process then.
func count(_ context.Context, s *server, args jsontext.Value) (string, error) {
	var a struct {
		Effect string `json:"effect"`
		Of     string `json:"of"`
		Forget bool   `json:"forget"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return "", err
	}
	switch {
	case a.Effect == "" && a.Of == "":
		n, err := s.counts.add(s.State)
		return fmt.Sprint(n), err
	case s.State == "":
		return "", errors.New("effects are kept nowhere: the server has no --state")
	case a.Of != "":
		return effectsOf(s.State, a.Of, a.Forget)
	}
	parts := effect.FindStringSubmatch(a.Effect)
	if parts == nil {
		return "", fmt.Errorf("effect is %q: a-z and 0-9, whose, a hyphen, and again it is", a.Effect)
	}
	_, err := appended(s.State, effectsFile(parts[1]), a.Effect+"\n")
	return a.Effect, err
}

func effectsFile(of string) string { return "effects-of-" + of }

// effectsOf returns the effects of one owner's calls as JSON and, if forget is set, deletes them.
func effectsOf(dir, of string, forget bool) (string, error) {
	if !owner.MatchString(of) {
		return "", fmt.Errorf("of is %q: a-z and 0-9 it is", of)
	}
	file := filepath.Join(dir, effectsFile(of))
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return string(encode(Effects{})), nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	e, err := tally(f)
	if err == nil && forget {
		err = os.Remove(file)
	}
	return string(encode(e)), err
}

// tally reads effects, one per line.
func tally(from io.Reader) (e Effects, err error) {
	had := map[string]int{}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		e.Done++
		if had[lines.Text()]++; had[lines.Text()] == 2 && len(e.Twice) < maxTwice {
			e.Twice = append(e.Twice, lines.Text())
		}
	}
	e.Different = uint64(len(had))
	return e, lines.Err()
}
