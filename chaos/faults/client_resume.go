package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

var clientResume = Kind{
	Name: "client.resume", CatalogueIDs: []string{"F48"}, Aim: AtTenant, Quiet: true,
	Description: "clients resume streams that are not their own, that never were, or further than " +
		"they got",
	Params: []Param{
		{Name: "clients", Type: Number, Default: "2", Low: 1, High: 1000,
			Description: "how many at once"},
		{Name: "every", Type: Duration, Default: "1s", Low: int64(time.Millisecond),
			High: int64(time.Minute), Description: "how often each tries all of them"},
	},
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		clients := s.Params.Number("clients")
		return begin(ctx, s, clients, s.Params.Duration("every"),
			func(ctx context.Context, _ int) (int, error) {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), visitTimeout)
				defer cancel()
				return resumes(ctx, s.Client)
			}).injected(fmt.Sprintf("tenant %s, by %d clients", s.Tenant, clients)), nil
	},
}

// resumption is one way to reconnect with an event id.
type resumption struct {
	name string
	// id builds the id to resume from the ids of a stream of this session and of a stream of another
	// session.
	id func(own, foreign string) string
	// may says that the host may answer with a stream of the session itself. It has to refuse all
	// other ids.
	may bool
}

// resumptions are all the ways that are tried. An event id has the form <session and its
// life>.<stream>.<position>. Clients must treat ids as opaque; this kind knows the form in order to
// forge ids.
var resumptions = []resumption{
	{"its own", func(own, _ string) string { return own }, true},
	{"one of a life of its session that is over", func(own, _ string) string {
		life := part(own, 0)
		return with(own, 0, life[:len(life)/2]+strings.Repeat("0", len(life)-len(life)/2))
	}, true}, // as a new stream: the session says that messages may have been missed
	{"another session's", func(_, foreign string) string { return foreign }, false},
	{"its own place in another session's stream", func(own, foreign string) string {
		return with(own, 0, part(foreign, 0))
	}, false},
	{"a place that is not reached yet", func(own, _ string) string {
		return with(own, 2, "zzzzz")
	}, false},
	{"a stream that is over or never was", func(own, _ string) string {
		return with(own, 1, "pzzzz")
	}, false},
	{"no event id at all", func(string, string) string { return "4711" }, false},
	{"one without an end", func(own, _ string) string {
		return own + strings.Repeat("0", 8<<10)
	}, false},
}

func part(id string, n int) string {
	if parts := strings.Split(id, "."); n < len(parts) {
		return parts[n]
	}
	return ""
}

// with returns an id whose part n is replaced.
func with(id string, n int, text string) string {
	parts := strings.Split(id, ".")
	if n < len(parts) {
		parts[n] = text
	}
	return strings.Join(parts, ".")
}

// resumes tries each way once, with two sessions of its own.
func resumes(ctx context.Context, c Client) (hits int, err error) {
	var ids [2]string
	var headers [2]http.Header
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for i := range ids {
		session, err := c.session(ctx)
		if err != nil {
			return 0, err
		}
		defer session.Close(ctx) // the host evicts idle sessions anyway
		headers[i] = session.Headers()
		if _, ids[i], err = c.listen(ctx, client, headers[i], ""); err != nil {
			return 0, fmt.Errorf("a stream: %w", err)
		}
	}
	for _, way := range resumptions {
		status, id, err := c.listen(ctx, client, headers[0], way.id(ids[0], ids[1]))
		switch ok := status == http.StatusOK; {
		case status == 0:
			return hits, err
		case way.may && !ok, !way.may && ok, status/100 == 5 && status != http.StatusServiceUnavailable:
			return hits, fmt.Errorf("%w: %s was resumed with http status %d", errViolation, way.name, status)
		case ok && id != "" && len(part(id, 0)) == len(part(ids[1], 0)) && part(id, 0) == part(ids[1], 0):
			return hits, fmt.Errorf("%w: %s was resumed as %s, which is another session's", errViolation,
				way.name, id)
		}
		hits++
	}
	return hits, nil
}

// errNoEvent says that a stream was opened and ended without an event id.
var errNoEvent = errors.New("no event id")

// listen opens or resumes the stream of a session and leaves it when its first event id has
// arrived. The status is 0 when there is no response.
func (c Client) listen(ctx context.Context, client *http.Client, header http.Header,
	last string) (status int, id string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, nil)
	if err != nil {
		return 0, "", err
	}
	r.Header = header.Clone()
	if last != "" {
		r.Header.Set("Last-Event-Id", last)
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, "", fmt.Errorf("http status %d", resp.StatusCode)
	}
	lines := bufio.NewScanner(io.LimitReader(resp.Body, maxAnswer))
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id:"); ok {
			return resp.StatusCode, strings.TrimSpace(id), nil
		}
	}
	return resp.StatusCode, "", errors.Join(errNoEvent, lines.Err())
}
