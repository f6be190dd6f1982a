package soak

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"mcpd/internal/load"
)

// Sizes of events.
const (
	vanishingClients = 20
	floodCalls       = 300 // concurrent calls
	floodSessions    = 30  // sessions that make these calls
)

// do makes an event happen, and returns when its cause is over.
func (r *rig) do(e event) (h pastEvent) {
	h = pastEvent{event: e, began: time.Now()}
	defer func() { h.ended = time.Now() }()
	var err error
	switch e.kind.name {
	case "kill":
		r.signalServer(r.find(e.tenant, e.server), syscall.SIGKILL)
	case "away":
		s := r.find(e.tenant, e.server)
		s.kill()
		time.Sleep(e.kind.last)
		s.begin(r.t)
	case "stop":
		again := r.signalServer(r.find(e.tenant, e.server), syscall.SIGSTOP)
		time.Sleep(e.kind.last)
		again(syscall.SIGCONT)
	case "restart":
		_, err = r.admin(http.MethodPost, "/admin/v1/servers/"+e.tenant+"/"+e.server+"/restart")
	case "reload":
		r.reconfigure.Lock()
		r.generations[r.find(e.tenant, e.server)]++
		r.configure()
		_, err = r.admin(http.MethodPost, "/admin/v1/reload")
		r.reconfigure.Unlock()
	case "flood":
		err = r.flood(e)
	case "vanish":
		err = r.vanish(e)
	case "disk":
		err = r.fill(e.kind.last)
	case "host killed":
		r.Kill()
		r.launch()
	case "host stopped":
		if code := r.Stop(); code != 0 {
			err = fmt.Errorf("it exited with %d", code)
		}
		r.launch()
	default:
		err = errors.New("nobody knows how")
	}
	if err != nil {
		r.t.Errorf("%s of %s/%s: %v", e.kind.name, e.tenant, e.server, err)
	}
	return h
}

// flood calls the counting server from many sessions concurrently. Errors are expected. An answer
// of another call is a fault.
func (r *rig) flood(e event) error {
	ctx, cancel := context.WithTimeout(context.Background(), e.kind.last)
	defer cancel()
	var all sync.WaitGroup
	wrong := make(chan error, 1)
	for i := range floodSessions {
		all.Go(func() {
			s, err := load.Connect(ctx, load.SessionOptions{
				Key: keyOf(e.tenant), URL: r.MCP + "/t/" + e.tenant + "/count/mcp", Tool: "note",
				Argument: "text",
			})
			if err != nil {
				return // the host may refuse a flood
			}
			var calls sync.WaitGroup
			for j := range floodCalls / floodSessions {
				calls.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						nonce := load.Nonce(fmt.Sprintf("flood-%d-%d-%d-%d", time.Now().UnixNano(), i, j, n))
						got, err := s.Call(ctx, nonce)
						if err == nil && got != nonce {
							select {
							case wrong <- fmt.Errorf("%s was answered with %s", nonce, got):
							default:
							}
						}
					}
				})
			}
			calls.Wait()
			_ = s.Close(context.WithoutCancel(ctx)) // Close has a time-out of its own
		})
	}
	all.Wait()
	select {
	case err := <-wrong:
		return err
	default:
		return nil
	}
}

// vanish opens sessions with streams and drops their connections without a DELETE.
func (r *rig) vanish(e event) error {
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	for range vanishingClients {
		s, err := load.Connect(ctx, load.SessionOptions{
			Key: keyOf(e.tenant), URL: r.MCP + "/t/" + e.tenant + "/mcp", Tool: "count__note",
			Argument: "text",
		})
		if err != nil {
			return err
		}
		stream, err := s.Listen(ctx)
		if err != nil {
			return err
		}
		stream.Close()
		s.CloseIdle()
	}
	return nil
}

// fill fills the file system with the state to the last byte, and frees it after the given time.
func (r *rig) fill(last time.Duration) error {
	name := filepath.Join(r.state, "filler")
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := file.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	// The file keeps growing, to take the space that the host frees.
	for end := time.Now().Add(last); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_, _ = file.Write(make([]byte, 4096))
	}
	return errors.Join(file.Close(), os.Remove(name))
}
