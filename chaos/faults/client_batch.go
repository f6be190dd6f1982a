package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mcpd/internal/load"
)

var clientBatch = Kind{
	Name: "client.batch", CatalogueIDs: []string{"F50"}, Aim: AtTenant, Quiet: true,
	Description: "clients send arrays of messages: far too long, nested, mixed, empty, and in " +
		"revisions that " +
		"have none",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "4", Low: 1, High: 1000,
			Description: "how many at once"},
		{Name: "every", Type: Duration, Default: "100ms", Low: int64(time.Millisecond),
			High: int64(time.Minute), Description: "how often each sends the next"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		clients := s.Params.Number("clients")
		sessions := map[string]*load.Session{}
		all := Injected{Heal: func(context.Context) error { return nil }}
		for _, revision := range []string{withArrays, withoutArrays} {
			session, err := s.Client.sessionOf(ctx, revision)
			if err != nil {
				_ = all.Heal(ctx)
				return Injected{}, fmt.Errorf("%s: %w", revision, err)
			}
			sessions[revision] = session
			all = inSession(session, all)
		}
		turns, rows := make([]int, clients), arrays(s.Client)
		for i := range turns {
			turns[i] = s.Rand.IntN(len(rows))
		}
		client := &http.Client{
			Transport: &http.Transport{MaxIdleConnsPerHost: clients, IdleConnTimeout: time.Second},
		}
		in := begin(ctx, s, clients, s.Params.Duration("every"),
			func(ctx context.Context, worker int) (int, error) {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), visitTimeout)
				defer cancel()
				turns[worker]++
				row := rows[turns[worker]%len(rows)]
				a, err := s.Client.post(ctx, client, sessions[row.revision].Headers(), row.body)
				if err != nil {
					return 0, err
				}
				return row.judge(a)
			}).injected(fmt.Sprintf("tenant %s, by %d clients", s.Tenant, clients))
		loopHeal := in.Heal
		in.Heal = func(ctx context.Context) error {
			err := loopHeal(ctx)
			_ = all.Heal(ctx)
			return err
		}
		return in, nil
	},
}

// withArrays is the only revision that allows arrays of messages; withoutArrays is one that does
// not.
const (
	withArrays    = "2025-03-26"
	withoutArrays = "2025-11-25"
)

// array is one request body and the answer that it has to get.
type array struct {
	name, revision, body string
	status, answers      int
}

// arrays returns every way to abuse arrays, and one valid array.
func arrays(c Client) []array {
	const ping, told = `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	of := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(ping+",", n), ",") + "]"
	}
	return []array{
		{"a call and what is answered by nobody", withArrays,
			"[" + c.request("1", "here", "") + "," + told + "]", http.StatusOK, 1},
		{"requests of one id", withArrays, of(10), http.StatusOK, 10},
		{"far too many", withArrays, of(10_000), http.StatusBadRequest, 1},
		{"none", withArrays, "[]", http.StatusBadRequest, 1},
		{"one in another", withArrays, "[[" + ping + "]," + ping + "]", http.StatusOK, 2},
		{"what is no message", withArrays, `[1,"a",null,` + ping + `]`, http.StatusOK, 4},
		{"nothing to answer", withArrays, "[" + told + "]", http.StatusAccepted, 0},
		{"without an end", withArrays, "[" + ping, http.StatusBadRequest, 1},
		{"in a revision without arrays", withoutArrays, of(2), http.StatusBadRequest, 1},
	}
}

// judge checks that the answer is the required one. A host without capacity may refuse instead.
func (r array) judge(a answer) (int, error) {
	switch {
	case a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable:
		return 0, load.StatusError{Status: a.status}
	case a.status != r.status || len(a.messages) != r.answers:
		return 1, fmt.Errorf("%w: %s: http status %d with %d answers, want %d with %d",
			errViolation, r.name,
			a.status, len(a.messages), r.status, r.answers)
	}
	return 1, nil
}
