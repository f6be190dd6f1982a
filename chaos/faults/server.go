package faults

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mcpd/chaos/server"
	"mcpd/internal/load"
)

// serverFault makes a server's misbehaviour a kind of fault. The server is one of `mcpd chaos
// server`. It gets its instruction through the host, by a tool call of the target tenant.
type serverFault struct {
	name   string // the server's name for it
	rows   []string
	traits trait
	params []Param
}

// trait is a property that only some kinds have. The values are bits.
type trait uint8

const (
	contends trait = 1 << iota
	fatal
	quiet
)

// Parameters of misbehaviours.
var (
	strikes = Param{
		Name: "times", Type: Number, Default: "0", High: maxCount,
		Description: "how often it strikes; 0 is as often as it can",
	}
	code = Param{
		Name: "code", Type: Number, Default: "1", High: 255, Description: "the code that it exits with",
	}
	status = Param{
		Name: "code", Type: Number, Default: "503", Low: 300, High: 599, Description: "the status",
	}
)

func delay(def string) Param {
	return Param{
		Name: "delay", Type: Duration, Default: def, Low: int64(time.Microsecond), High: int64(time.Hour),
		Description: "how much later, or how far apart",
	}
}

func amount(def string, high int64, is string) Param {
	return Param{Name: "size", Type: Number, Default: def, Low: 1, High: high, Description: is}
}

var misbehaviours = []serverFault{
	{"another", []string{"F39"}, 0, []Param{code}},
	{"asking", []string{"F38"}, contends, []Param{delay("1ms")}},
	{"both", []string{"F30"}, 0, []Param{strikes}},
	{"closed", []string{"F25"}, fatal, nil},
	{"crash", []string{"F11", "F17"}, 0, []Param{strikes, code}},
	{"deep", []string{"F34"}, 0, []Param{strikes, amount("10000", 1<<19, "how many levels")}},
	{"endless", []string{"F37"}, 0, []Param{strikes}},
	{"exit", []string{"F16"}, fatal, []Param{code}},
	{"flood", []string{"F21"}, contends, nil},
	{"garbage", []string{"F22"}, 0, []Param{strikes}},
	{"giant", []string{"F23"}, contends, []Param{
		{Name: "size", Type: Size, Default: "64MiB", Low: 1, High: 1 << 30,
			Description: "how long the line is"},
	}},
	{"grandchild", []string{"F19"}, fatal, nil},
	{"http_busy", []string{"F40"}, 0, []Param{strikes, delay("1s")}},
	{"http_cut", []string{"F40"}, 0, []Param{strikes}},
	{"http_endless", []string{"F40"}, 0, []Param{strikes}},
	{"http_forget", []string{"F40"}, 0, nil},
	{"http_framing", []string{"F40"}, 0, []Param{strikes}},
	{"http_redirect", []string{"F40"}, 0, []Param{strikes}},
	{"http_reset", []string{"F40"}, 0, []Param{strikes}},
	{"http_slow_body", []string{"F40"}, 0, []Param{strikes, delay("100ms")}},
	{"http_slow_header", []string{"F40"}, 0, []Param{strikes, delay("100ms")}},
	{"http_status", []string{"F40"}, 0, []Param{strikes, status}},
	{"http_type", []string{"F40"}, 0, []Param{strikes}},
	{"huge", []string{"F37"}, contends, []Param{amount("10000", 100_000, "how many tools")}},
	{"invalid", []string{"F37"}, 0, nil},
	{"late", []string{"F30"}, 0, []Param{strikes, delay("1s")}},
	{"malformed", []string{"F33"}, 0, []Param{strikes}},
	{"mute", []string{"F17"}, 0, []Param{strikes}},
	{"neither", []string{"F30"}, 0, []Param{strikes}},
	{"odd_id", []string{"F32"}, 0, []Param{strikes}},
	{"odd_text", []string{"F33"}, 0, []Param{strikes}},
	{"progress", []string{"F35"}, contends, []Param{
		strikes, amount("1000", 100_000, "how many notifications a call"),
	}},
	{"shuffled", []string{"F31"}, 0, []Param{delay("50ms")}},
	{"silent", []string{"F29"}, 0, []Param{strikes}},
	{"slow", []string{"F26"}, 0, []Param{strikes, delay("100ms")}},
	{"stderr", []string{"F24"}, contends, nil},
	{"storm", []string{"F36"}, 0, []Param{delay("1ms")}},
	{"string_id", []string{"F32"}, 0, []Param{strikes}},
	{"stubborn", []string{"F20"}, 0, nil},
	{"twice", []string{"F30"}, 0, []Param{strikes}},
	{"wide", []string{"F34"}, 0, []Param{strikes, amount("100000", 1<<20, "how many members")}},
}

// servers returns the kinds of all misbehaviours, sorted by name.
func servers() []Kind {
	list := make([]Kind, len(misbehaviours))
	for i, m := range misbehaviours {
		at := m.at()
		is := "of a server that is `mcpd chaos server`: "
		if server.Misbehaviours[at].URL() {
			is = "of a server behind a URL that is `mcpd chaos server`: "
		}
		is += server.Misbehaviours[at].Description
		list[i] = Kind{
			Name: "server." + m.name, CatalogueIDs: m.rows, Aim: AtServer, Params: m.params, Description: is,
			Contends: m.traits&contends != 0, Fatal: m.traits&fatal != 0, Quiet: m.traits&quiet != 0,
			Check: canMisbehave, Inject: func(ctx context.Context, s *Site) (Injected, error) {
				return m.inject(ctx, s)
			},
		}
	}
	return list
}

// at returns the index of the misbehaviour in server.Misbehaviours.
func (m serverFault) at() int {
	return slices.IndexFunc(server.Misbehaviours, func(b server.Misbehaviour) bool {
		return b.Name == m.name
	})
}

// canMisbehave returns an error if the server cannot be told to misbehave. A server that does not
// answer, or is just being started, gets the benefit of the doubt.
func canMisbehave(ctx context.Context, s *Site) error {
	if _, err := tell(ctx, s, `{"fault":"none"}`); load.Permanent(err) {
		return fmt.Errorf("%w: the server has to be one of `mcpd chaos server`", err)
	}
	return nil
}

// tellTime bounds one call that instructs a server. A misbehaving server may not answer. A session
// that is left half open stays at the host until it is idle, so that the bound leaves time for a
// busy machine.
const tellTime = 5 * time.Second

func (m serverFault) inject(ctx context.Context, s *Site) (Injected, error) {
	args := fmt.Sprintf(`{"fault":%s,"for":%s`, quote(m.name), quote(s.Duration.String()))
	for _, p := range m.params {
		v := fmt.Sprint(s.Params[p.Name])
		if p.Type == Duration {
			v = quote(v)
		}
		args += fmt.Sprintf(`,%s:%s`, quote(p.Name), v)
	}
	if _, err := tell(ctx, s, args+"}"); err != nil {
		return Injected{}, err
	}
	in := done(fmt.Sprintf("server %s of %s", s.Server, s.Tenant))
	counted := server.Misbehaviours[m.at()].Counted()
	hits := 1 // as far as is known
	in.Heal = func(ctx context.Context) error {
		text, err := tell(ctx, s, `{"fault":"none"}`)
		if err != nil {
			return nil // a server that cannot be told behaves again by itself when the time is over
		}
		var n int
		if _, err := fmt.Sscanf(text, server.Behaves, &n); err == nil && counted {
			hits = n
		}
		return nil
	}
	in.Hits = func(context.Context) (int, error) { return hits, nil }
	return in, nil
}

// tell calls the server's misbehave tool and returns its text.
func tell(ctx context.Context, s *Site, args string) (text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	tool := s.Server + "__misbehave"
	c, err := load.Connect(ctx, load.SessionOptions{URL: s.Client.URL, Key: s.Client.Key})
	if err == nil {
		text, err = c.Ask(ctx, "tools/call", `{"name":`+quote(tool)+`,"arguments":`+args+`}`)
		_ = c.Close(context.WithoutCancel(ctx)) // otherwise the host ends it when it is idle
	}
	if err != nil {
		return "", fmt.Errorf("%s of %s: %w", tool, s.Tenant, err)
	}
	return text, nil
}
