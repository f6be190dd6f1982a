package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/bench/subject"
	"mcpd/internal/load"
)

var fanOut = kit.Scenario{
	Name: "fan-out", Title: "A notification to many subscribers",
	Description: "One resource of a program, to which 10, 1,000 or 10,000 sessions have subscribed, " +
		"each " +
		"with its stream open. Timed from a call of the " +
		"tool that changes it until the last of them has read that it did.",
	Measure: func(ctx context.Context, r *kit.Run) error {
		for _, n := range kit.ByForm(r, []int{10, 1000, 10_000}, []int{10, 1000}) {
			if err := fan(ctx, r, n); err != nil {
				return fmt.Errorf("%d subscribers: %w", n, err)
			}
		}
		return nil
	},
}

// fan measures one number of subscribers.
func fan(ctx context.Context, r *kit.Run, n int) (err error) {
	r.Say("fan-out: %d subscribers", n)
	var all processes
	defer func() { err = errors.Join(err, all.stop()) }()
	server, err := stdioServer("legacy")
	if err != nil {
		return err
	}
	host, err := all.start(ctx, subject.Host, hostText(map[string]string{"echo": server}))
	if err != nil {
		return err
	}
	a := &audience{heard: make(chan error, n)}
	defer a.leave()
	if err := a.gather(ctx, host.URL, n); err != nil {
		return err
	}
	m := record.Measurement{
		Scenario: "fan-out", Case: fmt.Sprintf("%d subscribers", n), Subject: record.Mcpd,
	}
	last, cpu := m, m
	last.Quantity, last.Unit = "to the last", "µs"
	cpu.Quantity, cpu.Unit = "CPU per notification", "µs"
	for round := range rounds(r) * 4 {
		before, err := host.Usage(false)
		if err != nil {
			return err
		}
		begun := time.Now()
		if err := a.tell(ctx, load.Nonce(fmt.Sprintf("n%d-1", round))); err != nil {
			return err
		}
		took := time.Since(begun)
		after, err := host.Usage(false)
		if err != nil {
			return err
		}
		if round == 0 {
			continue // this round started the server
		}
		last.Rounds = append(last.Rounds, micro(took))
		cpu.Rounds = append(cpu.Rounds, (after.CPU-before.CPU)/float64(n)*1e6)
	}
	r.Add(last)
	r.Add(cpu)
	return nil
}

// audience is a set of sessions that have subscribed to the resource.
type audience struct {
	sessions []*load.Session
	streams  []io.Closer
	heard    chan error // one value from each stream for a notification, or for its end
	reading  sync.WaitGroup
}

// gatherers is how many sessions are opened concurrently.
const gatherers = 16

func (a *audience) gather(ctx context.Context, url string, n int) error {
	var mu sync.Mutex // guards the audience and left
	var opening sync.WaitGroup
	remaining, failed := n, error(nil)
	for range gatherers {
		opening.Go(func() {
			for {
				mu.Lock()
				more := remaining > 0 && failed == nil
				remaining--
				mu.Unlock()
				if !more {
					return
				}
				s, stream, err := subscribe(ctx, url)
				mu.Lock()
				if err == nil {
					a.sessions, a.streams = append(a.sessions, s), append(a.streams, stream)
					a.reading.Go(func() { a.read(stream) })
				} else if failed == nil {
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	opening.Wait()
	return failed
}

// subscribe opens a session with its stream, and subscribes it to the resource.
func subscribe(ctx context.Context, url string) (*load.Session, io.ReadCloser, error) {
	s, err := load.Connect(ctx, load.SessionOptions{
		URL: url, Tool: "echo__" + subject.Touch, Argument: "message",
	})
	if err != nil {
		return nil, nil, err
	}
	stream, err := s.Listen(ctx)
	if err != nil {
		return nil, nil, err
	}
	if _, err = s.Ask(ctx, "resources/subscribe", `{"uri":"`+subject.Resource+`"}`); err != nil {
		return nil, nil, errors.Join(err, stream.Close())
	}
	s.CloseIdle()
	return s, stream, nil
}

// read reports each notification on a stream to heard.
func (a *audience) read(stream io.Reader) {
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), []byte("notifications/resources/updated")) {
			a.heard <- nil
		}
	}
	a.heard <- errors.Join(errors.New("a stream has ended"), lines.Err())
}

// tell changes the resource and returns when all sessions have been notified.
func (a *audience) tell(ctx context.Context, nonce load.Nonce) error {
	wait, cancel := context.WithTimeout(ctx, kit.Patience)
	defer cancel()
	if got, err := a.sessions[0].Call(wait, nonce); err != nil || got != nonce {
		return fmt.Errorf("%q came back as %q: %w", nonce, got, err)
	}
	for i := range a.sessions {
		select {
		case err := <-a.heard:
			if err != nil {
				return err
			}
		case <-wait.Done():
			return fmt.Errorf("%d of %d have heard of it: %w", i, len(a.sessions), wait.Err())
		}
	}
	return nil
}

// leave closes the streams. The sessions end with their host.
func (a *audience) leave() {
	for _, stream := range a.streams {
		_ = stream.Close() // it is not needed any more
	}
	go func() { a.reading.Wait(); close(a.heard) }() // owner: the loop below, which ends with it
	for range a.heard {
	}
}
