package streamable_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport"
)

// An answer that arrives alone is given to the callback where it is read. Recv returns an answer on
// a stream, one that follows another message in its array, one that the callback refuses, and one
// that follows messages that wait for Recv.
func TestAnswerAloneIsHandedOver(t *testing.T) {
	const result = `{"content":[]}`
	const byRecv = `1: {"jsonrpc":"2.0","id":1,"result":` + result + `}`
	alone := func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
		answerJSON(w, jsonrpc.Response(m.ID, jsontext.Value(result)))
	}
	notice := jsonrpc.Notification("notifications/x", nil)
	streamed := func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
		stream(w, data(jsonrpc.Response(m.ID, jsontext.Value(result))))
	}
	array := func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
		w.Header().Set("Content-Type", "application/json")
		answer := jsonrpc.Response(m.ID, jsontext.Value(result))
		fmt.Fprintf(w, "[%s,%s]", notice.Append(nil), answer.Append(nil))
	}
	for name, tt := range map[string]struct {
		answer  func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message)
		refuses bool
		waits   bool
		want    []string // by Recv
	}{
		"alone":   {answer: alone},
		"refused": {answer: alone, refuses: true, want: []string{byRecv}},
		"waits": {
			answer: alone, waits: true,
			want: []string{`: {"jsonrpc":"2.0","method":"notifications/x"}`, byRecv},
		},
		"a stream": {answer: streamed, want: []string{byRecv}},
		"an array": {
			answer: array,
			want:   []string{`1: {"jsonrpc":"2.0","method":"notifications/x"}`, byRecv},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer()
				p.posts["tools/call"] = tt.answer
				p.posts["tools/list"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
					stream(w, data(notice))
					<-t.Context().Done()
				}
				c := inMemory(t, p)
				var taken []string
				c.Answers(func(in transport.Inbound) bool {
					if in.Message.ID == jsonrpc.IntID(0) || tt.refuses {
						return false
					}
					taken = append(taken, show(in))
					return true
				})
				shake(t, c, protocol.V20251125)
				if tt.waits {
					send(t, c, call(2, "tools/list"))
					synctest.Wait()
					tt.want[0] = "2" + tt.want[0]
				}
				var read []string
				ctx, stop := context.WithCancel(t.Context())
				if !tt.waits { // another goroutine reads the messages
					go func() {
						for in, err := c.Recv(ctx); err == nil; in, err = c.Recv(ctx) {
							read = append(read, show(in))
						}
					}()
					synctest.Wait()
				}
				send(t, c, call(1, "tools/call"))
				synctest.Wait()
				stop()
				synctest.Wait()
				if len(taken) != 1-min(1, len(tt.want)) {
					t.Errorf("handed over: %v", taken)
				}
				if tt.waits {
					expect(t, c, tt.want...)
				} else if !slices.Equal(read, tt.want) {
					t.Errorf("read: %q, want %q", read, tt.want)
				}
			})
		})
	}
}

// The previous result of Recv counts as being processed until Recv is called again. No answer
// overtakes it.
func TestAnswerDoesNotOvertakeWhatIsBeingHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		p.posts["tools/call"] = func(w http.ResponseWriter, _ *http.Request, m jsonrpc.Message) {
			answerJSON(w, jsonrpc.Response(m.ID, jsontext.Value(`{}`)))
		}
		c := inMemory(t, p)
		taken := 0
		shake(t, c, protocol.V20251125) // its answer is being processed
		c.Answers(func(transport.Inbound) bool { taken++; return true })
		send(t, c, call(1, "tools/call"))
		if synctest.Wait(); taken != 0 {
			t.Error("overtaken")
		}
		recv(t, c)
	})
}
