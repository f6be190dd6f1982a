package streamable

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// lone is a Lender that runs its errand in a goroutine and recalls it at random.
type lone struct {
	transport.Sink
	wg *sync.WaitGroup
}

func (l *lone) Lend(e transport.Errand) bool {
	if rand.IntN(8) == 0 {
		return false
	}
	l.wg.Go(func() {
		if rand.IntN(4) == 0 {
			e.Recall()
		}
		l.wg.Go(func() {
			for range rand.IntN(4) {
				time.Sleep(time.Duration(rand.IntN(900)) * time.Microsecond)
				e.Recall()
			}
		})
		e.Run()
	})
	return true
}

// Errands of many callers that are recalled at random lose no request, mix up no answers, and leak
// nothing.
func TestErrandsInACrowd(t *testing.T) {
	before := runtime.NumGoroutine()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, err := jsonrpc.Decode(body, jsonrpc.Limits{})
		if err != nil || m.ID.IsZero() {
			w.WriteHeader(202)
			return
		}
		time.Sleep(time.Duration(rand.IntN(900)) * time.Microsecond)
		text := jsonrpc.Response(m.ID, []byte(m.Params)).Append(nil)
		w.Header().Set("Content-Type", jsonType)
		switch rand.IntN(12) {
		case 0:
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			_, _ = w.Write(text[:5])
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
			text = text[5:]
		case 1:
			w.WriteHeader(103)
		case 2:
			w.Header().Set("Content-Type", streamType)
			text = []byte("data: " + string(text) + "\n\n")
		case 3:
			w.Header().Set("Connection", "close")
		}
		_, _ = w.Write(text)
	}))
	tr := NewTransport(nil)
	var bad, got, cancelled, failed atomic.Int64
	var all sync.WaitGroup
	for tenant := range 6 {
		all.Go(func() {
			client, err := NewClient(ClientOptions{URL: up.URL, Transport: tr})
			if err != nil {
				t.Error(err)
				return
			}
			var mu sync.Mutex
			open := map[jsonrpc.ID]chan transport.Inbound{}
			give := func(in transport.Inbound) bool {
				mu.Lock()
				ch := open[in.RequestID]
				delete(open, in.RequestID)
				mu.Unlock()
				if ch == nil {
					return false
				}
				ch <- in
				return true
			}
			client.Answers(func(in transport.Inbound) bool { return rand.IntN(3) > 0 && give(in) })
			var reader sync.WaitGroup
			reader.Go(func() {
				for {
					in, err := client.Recv(context.Background())
					if err != nil {
						return
					}
					give(in)
				}
			})
			var lent, callers sync.WaitGroup
			for caller := range 8 {
				callers.Go(func() {
					for i := range 100 {
						id := jsonrpc.IntID(uint64(1 + caller + i*8))
						want := fmt.Sprintf(`{"of":"%d-%d-%d"}`, tenant, caller, i)
						ch := make(chan transport.Inbound, 1)
						mu.Lock()
						open[id] = ch
						mu.Unlock()
						if err := client.SendBy(context.Background(), jsonrpc.Request(id, "call", []byte(want)),
							&lone{wg: &lent}); err != nil {
							t.Error(err)
							return
						}
						if rand.IntN(10) == 0 {
							time.Sleep(time.Duration(rand.IntN(900)) * time.Microsecond)
							_ = client.Send(context.Background(),
								jsonrpc.Notification("notifications/cancelled",
									[]byte(fmt.Sprintf(`{"requestId":%d}`, 1+caller+i*8))))
							cancelled.Add(1)
							mu.Lock()
							delete(open, id)
							mu.Unlock()
							continue
						}
						select {
						case in := <-ch:
							if in.Err != nil {
								if failed.Add(1) < 10 {
									t.Errorf("failed: %v", in.Err)
								}
							} else if string(in.Message.Result) != want {
								bad.Add(1)
							} else {
								got.Add(1)
							}
						case <-time.After(5 * time.Second):
							t.Errorf("lost: %v %s", id, want)
						}
					}
				})
			}
			callers.Wait()
			lent.Wait()
			ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
			defer stop()
			if err := client.Close(ctx); err != nil {
				t.Error(err)
			}
			reader.Wait()
			client.mu.Lock()
			if len(client.inFlight) != 0 || len(client.posts) != 0 {
				t.Errorf("left: %d in flight, %d places", len(client.inFlight), len(client.posts))
			}
			client.mu.Unlock()
		})
	}
	all.Wait()
	t.Logf("got %d, cancelled %d, failed %d, bad %d, idle %d", got.Load(), cancelled.Load(),
		failed.Load(), bad.Load(), tr.Idle())
	if bad.Load() > 0 {
		t.Error("answers of others")
	}
	tr.CloseIdleConnections()
	up.Close()
	for range 100 {
		if runtime.NumGoroutine() <= before+1 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before+1 {
		buf := make([]byte, 1<<20)
		t.Errorf("goroutines %d, %d before:\n%s", n, before,
			strings.Join(strings.SplitN(string(buf[:runtime.Stack(buf, true)]), "\n\n", 5)[1:4], "\n\n"))
	}
}
