package actor

import (
	"context"
	"fmt"

	"mcpd/bench/kit"
	"mcpd/bench/record"
)

// rowLimits limit the crash of a host's actor to a multiple of the crash of a bare actor. The
// difference is the handover of state, which must stay within a few such crashes. A session is
// requested, found missing, and attached again by its manager. A connection starts a server,
// performs the handshake, and requests four lists.
var rowLimits = []struct {
	name string
	gate float64
}{
	{"protocol version", 4}, {"request manager", 4}, {"notification dispatcher", 4}, {"catalog", 8},
	{"session", 10}, {"connection", 50},
}

// measureHostRestart measures each of a host's actors in turn with the bare actor, in one process.
func measureHostRestart(ctx context.Context, r *kit.Run) error {
	talk, err := kit.StartTalk(ctx, wholeHost, "")
	if err != nil {
		return err
	}
	defer func() { _ = talk.Stop() }() // all answers have been read
	times := kit.ByForm(r, 4000, 200)
	for _, row := range rowLimits {
		of := func(subject, name string) *series {
			return &series{scenario: "restart-host", name: row.name, subject: subject,
				ask: func() (a answer, err error) {
					err = talk.Ask(fmt.Sprintf("%s\t%d", name, times), &a)
					return a, err
				}}
		}
		lanes := []*series{of(record.Mcpd, row.name), of(bareRow, bareRow)}
		if err := runRounds(ctx, r, roundsOf(r), lanes); err != nil {
			return err
		}
		for _, l := range lanes {
			if _, _, err := l.times(r, tail...); err != nil {
				return err
			}
		}
		if err := lanes[0].compareWith(r, "a bare actor's", lanes[1],
			pair{p50: kit.Limits{Gate: row.gate}}); err != nil {
			return err
		}
	}
	return nil
}
