package faults

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mcpd/chaos/server"
	"mcpd/internal/load"
)

// misbehaves is a server's misbehaviour as a kind of fault. The server is one of `mcpd chaos server`, which is told through the host, by a call
// of the target.
type misbehaves struct {
	name     string // as the server has it
	rows     []string
	contends bool
	params   []Param
}

// Parameters of misbehaviours.
var (
	strikes = Param{Name: "times", Type: Number, Default: "0", High: maxCount, Is: "how often it strikes; 0 is as often as it can"}
	code    = Param{Name: "code", Type: Number, Default: "1", High: 255, Is: "the code that it exits with"}
)

func delay(def string) Param {
	return Param{Name: "delay", Type: Duration, Default: def, Low: int64(time.Microsecond), High: int64(time.Hour), Is: "how much later, or how far apart"}
}

func amount(def string, high int64, is string) Param {
	return Param{Name: "size", Type: Number, Default: def, Low: 1, High: high, Is: is}
}

var misbehaviours = []misbehaves{
	{"closed", []string{"F25"}, false, nil},
	{"crash", []string{"F11", "F17"}, false, []Param{strikes, code}},
	{"deep", []string{"F34"}, false, []Param{strikes, amount("10000", 1<<19, "how many levels")}},
	{"endless", []string{"F37"}, false, []Param{strikes}},
	{"exit", []string{"F16"}, false, []Param{code}},
	{"flood", []string{"F21"}, true, nil},
	{"garbage", []string{"F22"}, false, []Param{strikes}},
	{"giant", []string{"F23"}, true, []Param{{Name: "size", Type: Size, Default: "64MiB", Low: 1, High: 1 << 30, Is: "how long the line is"}}},
	{"grandchild", []string{"F19"}, false, nil},
	{"late", []string{"F30"}, false, []Param{strikes, delay("1s")}},
	{"malformed", []string{"F33"}, false, []Param{strikes}},
	{"mute", []string{"F17"}, false, []Param{strikes}},
	{"progress", []string{"F35"}, true, []Param{strikes, amount("1000", 100_000, "how many notifications a call")}},
	{"shuffled", []string{"F31"}, false, []Param{delay("50ms")}},
	{"silent", []string{"F29"}, false, []Param{strikes}},
	{"slow", []string{"F26"}, false, []Param{strikes, delay("100ms")}},
	{"stderr", []string{"F24"}, true, nil},
	{"storm", []string{"F36"}, false, []Param{delay("1ms")}},
	{"string_id", []string{"F32"}, false, []Param{strikes}},
	{"stubborn", []string{"F20"}, false, nil},
	{"twice", []string{"F30"}, false, []Param{strikes}},
}

// servers are the kinds that misbehaviours are, by name.
func servers() []Kind {
	list := make([]Kind, len(misbehaviours))
	for i, m := range misbehaviours {
		at := slices.IndexFunc(server.Misbehaviours, func(b server.Misbehaviour) bool { return b.Name == m.name })
		is := "of a server that is `mcpd chaos server`: " + server.Misbehaviours[at].Is
		list[i] = Kind{
			Name: "server." + m.name, Rows: m.rows, Aim: AtServer, Contends: m.contends, Params: m.params, Is: is,
			Inject: func(ctx context.Context, s *Site) (Injected, error) { return m.inject(ctx, s) },
		}
	}
	return list
}

// tellTime bounds one call that tells a server something. One that misbehaves may not answer.
const tellTime = 2 * time.Second

func (m misbehaves) inject(ctx context.Context, s *Site) (Injected, error) {
	args := fmt.Sprintf(`{"fault":%s,"for":%s`, quote(m.name), quote(s.For.String()))
	for _, p := range m.params {
		v := fmt.Sprint(s.With[p.Name])
		if p.Type == Duration {
			v = quote(v)
		}
		args += fmt.Sprintf(`,%s:%s`, quote(p.Name), v)
	}
	if err := tell(ctx, s, args+"}"); err != nil {
		return Injected{}, err
	}
	in := done(fmt.Sprintf("server %s of %s", s.Server, s.Tenant))
	in.Heal = func(ctx context.Context) error {
		_ = tell(ctx, s, `{"fault":"none"}`) // one that cannot be told behaves again by itself when its time is over
		return nil
	}
	return in, nil
}

// tell calls the server's tool.
func tell(ctx context.Context, s *Site, args string) error {
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	tool := s.Server + "__misbehave"
	c, err := load.Connect(ctx, load.SessionOptions{URL: s.Client.URL, Key: s.Client.Key})
	if err == nil {
		_, err = c.Ask(ctx, "tools/call", `{"name":`+quote(tool)+`,"arguments":`+args+`}`)
		_ = c.Close(context.WithoutCancel(ctx)) // or the host ends it when it is idle
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", tool, s.Tenant, err)
	}
	return nil
}
