package actor

import (
	"context"
	"fmt"
	"time"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/internal/clock"
	"mcpd/internal/load"
)

// How a bystander calls: so often that a tenth of a second of silence would be seen in p99.9, and seldom enough for the machine not to be busy.
const (
	bystanderRate     = 500 // calls/s
	bystanderSessions = 4
)

// Tool that either tenant calls.
const tool, argument = "demo__echo", "message"

func measureHostIsolation(ctx context.Context, r *kit.Run) error {
	talk, err := kit.StartTalk(ctx, hurtHost, "")
	if err != nil {
		return err
	}
	defer func() { _ = talk.Stop() }() // what it had to say it has said
	var base string
	if err := talk.Ask("begin", &base); err != nil {
		return err
	}
	sessions, err := connect(ctx, base+"/t/bystander/mcp")
	defer func() {
		for _, s := range sessions {
			_ = s.(*load.Session).Close(ctx) // the host ends anyway
		}
	}()
	if err != nil {
		return err
	}
	last := time.Duration(kit.Either(r, 4, 1)) * time.Second
	var lanes []*lane
	for _, k := range kills {
		if k.reports == "reports" || k.victim == supervisorVictim {
			continue // a host always writes them; its supervisors have no thousand children of one tenant
		}
		lanes = append(lanes, &lane{scenario: "isolation-host", name: k.name, subject: record.Mcpd, ask: func() (answer, error) {
			return bystander(ctx, talk, sessions, k, last)
		}})
	}
	if err := take(ctx, r, isolationRounds(r), lanes); err != nil {
		return err
	}
	return isolated(r, lanes, []string{record.Mcpd}, tails(r, bystanderLimits))
}

func connect(ctx context.Context, url string) (sessions []load.Client, err error) {
	for range bystanderSessions {
		s, err := load.Connect(ctx, load.SessionOptions{URL: url, Tool: tool, Argument: argument})
		if err != nil {
			return sessions, err
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

// bystander is one round: something of another tenant crashes every so often while its sessions call.
func bystander(ctx context.Context, talk *kit.Talk, sessions []load.Client, k kill, last time.Duration) (answer, error) {
	var did, crashes int
	if err := talk.Ask(fmt.Sprintf("crash %d %s", k.microseconds, k.victim), &did); err != nil {
		return answer{}, err
	}
	// More workers than sessions, so that a call is made when it is due whatever became of those before.
	result, err := load.Run(ctx, sessions, load.Options{
		Clock: clock.System, Run: uint64(time.Now().UnixNano()), Workers: 16 * bystanderSessions, Rate: bystanderRate,
		Calls: int(bystanderRate * last.Seconds()), For: 2 * last, Timeout: patience,
	})
	if err := talk.Ask("calm", &crashes); err != nil {
		return answer{}, err
	}
	a := timed(result.Latency)
	a.Calls, a.Failures, a.Kills = int(result.Counts.Sent), int(result.Counts.Sent-result.Counts.OK), crashes
	return a, err
}
