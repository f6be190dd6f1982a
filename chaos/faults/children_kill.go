package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

var childrenKill = Kind{
	Name: "children.kill", CatalogueIDs: []string{"F10"}, Aim: AtTenant, Fatal: true,
	Needs:       NeedSameMachine,
	Description: "the processes of all servers of a tenant are killed at the same moment",
	Inject: func(ctx context.Context, s *Site) (Injected, error) {
		m, err := killServers(ctx, s)
		if err != nil {
			return Injected{}, err
		}
		in := done(fmt.Sprintf("all %d processes of servers of %s", len(m.paths), s.Tenant))
		in.Heal = m.heal
		in.Hits = func(context.Context) (int, error) { return len(m.paths), nil }
		in.Figures = func() map[string][]float64 { return m.found }
		return in, nil
	},
}

const (
	// startRate is the sustained rate, in servers a second, at which a host starts servers.
	startRate = 20
	// slowestStart is how long one server may take to be ready, in addition to the time that startRate
	// gives to the servers started before it.
	slowestStart = 10 * time.Second
	// lookBack is the interval between looks at which servers are back.
	lookBack = 100 * time.Millisecond
	// tick is the unit in which the kernel counts the start times of processes.
	tick = 10 * time.Millisecond
)

// killedServers is all servers of a tenant that were killed at once, until they are back.
type killedServers struct {
	site      *Site
	at        time.Time
	paths     map[string]int // the rows of the servers, and the process that each had
	stop      context.CancelFunc
	over      sync.WaitGroup
	remaining int   // servers that are not back
	err       error // of the last look
	starts    []int // start times of the servers that are back, in ticks
	found     map[string][]float64
}

// killServers kills all servers of the tenant and starts to watch for their return.
func killServers(ctx context.Context, s *Site) (*killedServers, error) {
	if s.PID == 0 {
		return nil, errElsewhere(s)
	}
	tree, err := s.Host.Tree(ctx)
	if err != nil {
		return nil, err
	}
	m := &killedServers{site: s, paths: map[string]int{}, found: map[string][]float64{}}
	var held []*os.Process
	defer func() {
		for _, p := range held {
			_ = p.Release() // it closes a descriptor
		}
	}()
	for _, server := range tree.Servers(s.Tenant) {
		for _, row := range tree.Children(s.Tenant, server) {
			p, err := os.FindProcess(row.PID)
			if err != nil {
				continue // it has just ended
			}
			// checked after FindProcess, so about the process that is held
			if held = append(held, p); below(row.PID, s.PID) {
				m.paths[row.Path] = row.PID
			} else {
				held = held[:len(held)-1]
				_ = p.Release() // it closes a descriptor
			}
		}
	}
	if len(held) == 0 {
		return nil, fmt.Errorf("servers of %s: %w", s.Tenant, ErrNoChild)
	}
	m.at, m.remaining = time.Now(), len(m.paths)
	for _, p := range held {
		if err := p.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return nil, err
		}
	}
	ctx, m.stop = context.WithTimeout(context.WithoutCancel(ctx),
		time.Duration(len(m.paths))*time.Second/startRate+slowestStart)
	m.over.Go(func() { m.watch(ctx) })
	return m, nil
}

// watch returns when all servers are back, or when the context ends.
func (m *killedServers) watch(ctx context.Context) {
	for away := m.paths; ctx.Err() == nil; {
		var tree Tree
		if tree, m.err = m.site.Host.Tree(ctx); m.err == nil {
			away = m.look(tree, away)
			if m.remaining = len(away); m.remaining == 0 {
				m.measure(time.Since(m.at))
				return
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookBack):
		}
	}
}

// look records the servers that are back and returns the others.
func (m *killedServers) look(tree Tree, away map[string]int) map[string]int {
	others := map[string]int{}
	for path, pid := range away {
		i := slices.IndexFunc(tree, func(r Row) bool { return r.Path == path })
		if i < 0 || tree[i].PID == 0 || tree[i].PID == pid || tree[i].State != "ready" {
			others[path] = pid
			continue
		}
		m.starts = append(m.starts, processOf(tree[i].PID).start)
	}
	return others
}

// measure records three figures: the time until all servers were back, the part of that time beyond
// what startRate allows, and the highest number of starts within one second.
func (m *killedServers) measure(took time.Duration) {
	due := time.Duration(len(m.paths)) * time.Second / startRate
	m.found["all_back_ms"] = []float64{float64(took) / float64(time.Millisecond)}
	m.found["beyond_ms"] = []float64{float64(max(0, took-due)) / float64(time.Millisecond)}
	m.found["peak_starts"] = []float64{float64(busiest(m.starts, int(time.Second/tick)))}
}

// busiest returns the largest number of entries of at that lie within one span.
func busiest(at []int, span int) (most int) {
	at = slices.Sorted(slices.Values(at))
	first := 0
	for i := range at {
		for at[i]-at[first] >= span {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// heal waits until all servers are back. It returns an error if they are not back in time.
func (m *killedServers) heal(ctx context.Context) error {
	defer context.AfterFunc(ctx, m.stop)()
	m.over.Wait()
	m.stop()
	if m.remaining > 0 {
		return errors.Join(fmt.Errorf("%d of %d servers are not back after %s", m.remaining, len(m.paths),
			time.Since(m.at).Round(time.Millisecond)), m.err)
	}
	return nil
}
