package otp

import (
	"fmt"
	"strings"
	"time"
)

// treeText parses trees that tests write as text:
//
//	one_for_one 2/1h any_significant { a; b transient significant 1s; s sup rest_for_one 1/5s { c } }
//
// First come strategy, restarts/window, auto_shutdown, backoff=first-max-stable, -boots. Then come
// the children: id, restart type, "significant", shutdown, and for a supervisor "sup" and its tree.
// The template of a pool has the id "-".
type treeText struct {
	words  []string
	worker func(id string) Start
}

// parseTree makes a spec from the text. worker makes the Start of rows that are not supervisors.
func parseTree(text string, worker func(id string) Start) Spec {
	for _, sep := range []string{"{", "}", ";"} {
		text = strings.ReplaceAll(text, sep, " "+sep+" ")
	}
	p := &treeText{words: strings.Fields(text), worker: worker}
	spec := p.spec()
	if len(p.words) > 0 {
		panic("tree text: left over: " + strings.Join(p.words, " "))
	}
	return spec
}

// parseChild is parseTree for one child.
func parseChild(text string, worker func(id string) Start) Child {
	return parseTree("one_for_one { "+text+" }", worker).Children[0]
}

func (p *treeText) peek() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0]
}

func (p *treeText) take() string {
	w := p.words[0]
	p.words = p.words[1:]
	return w
}

func (p *treeText) spec() (s Spec) {
	for p.peek() != "{" {
		w := p.take()
		if v, ok := lookup(w, OneForOne, OneForAll, RestForOne, SimpleOneForOne); ok {
			s.Strategy = v
		} else if v, ok := lookup(w, Never, AnySignificant, AllSignificant); ok {
			s.AutoShutdown = v
		} else if text, ok := strings.CutPrefix(w, "backoff="); ok { // first-max-stable
			f := strings.Split(text, "-")
			s.Backoff = Backoff{
				First: duration(f[0]), Max: duration(f[1]), Stable: duration(f[2]), AtStart: len(f) > 3,
			}
		} else if r, within, ok := strings.Cut(w, "/"); ok {
			fmt.Sscan(r, &s.Intensity.Restarts)
			s.Intensity.Within = duration(within)
		} else {
			panic("tree text: " + w)
		}
	}
	p.take()
	for p.peek() != "}" {
		if p.peek() == ";" {
			p.take()
			continue
		}
		s.Children = append(s.Children, p.child())
	}
	p.take()
	return s
}

func (p *treeText) child() Child {
	c := Child{ID: p.take()}
	for p.peek() != ";" && p.peek() != "}" {
		w := p.take()
		if v, ok := lookup(w, Permanent, Transient, Temporary); ok {
			c.Restart = v
			continue
		}
		switch w {
		case "significant":
			c.Significant = true
		case "brutal_kill":
			c.Shutdown = BrutalKill
		case "infinity":
			c.Shutdown = Infinity
		case "sup":
			c.Start = Supervisor(p.spec())
		default:
			c.Shutdown = duration(w)
		}
	}
	if c.Start.isZero() {
		c.Start = p.worker(c.ID)
	}
	return c
}

func lookup[T fmt.Stringer](word string, all ...T) (T, bool) {
	for _, v := range all {
		if v.String() == word {
			return v, true
		}
	}
	var zero T
	return zero, false
}

func duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic("tree text: " + err.Error())
	}
	return d
}
