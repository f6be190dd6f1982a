package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// scripted is a server whose streams follow scripts. The first script answers the call, and each
// further one a GET. The words of a script are p1, p2… for progress and ok for the answer. Each
// word is also the id of its event, unless =ID sets another. The words restarted and crashed are
// errors. A script that is a number is a status.
func scripted(t *testing.T, scripts ...string) (url string, asked *[]string) {
	asked = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Header.Get("Last-Event-ID"))
		script := scripts[len(*asked)-1]
		if strings.HasPrefix(script, "4") {
			w.WriteHeader(404)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: 0\ndata:\n\n")
		for word := range strings.FieldsSeq(script) {
			word, id, _ := strings.Cut(word, "=")
			data := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"n1-1"}]}}`
			if step, ok := strings.CutPrefix(word, "p"); ok {
				data = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"n1-1","progress":` + step + `}}`
			}
			if text, ok := map[string]string{
				"restarted": "the host was restarted during the request; a server may have executed it",
				"crashed":   "the server crashed",
			}[word]; ok {
				data = `{"jsonrpc":"2.0","id":1,"error":{"code":-32008,"message":"` + text + `"}}`
			}
			if id == "" {
				id = word
			}
			fmt.Fprintf(w, "id: %s\ndata: %s\n\n", id, data)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// listening returns a session that is already open.
func listening(t *testing.T, url string) *Session {
	s := &Session{options: SessionOptions{URL: url}, headers: http.Header{}}
	t.Cleanup(s.CloseIdle)
	return s
}

func TestListenerFindsOutWhatIsOutOfOrder(t *testing.T) {
	for _, test := range []struct {
		name      string
		cut, back int
		scripts   []string
		from      string // the last Last-Event-ID
		slips     string
		gaps      string
		resumed   uint64
		replayed  uint64
	}{
		{name: "all in order", scripts: []string{"p1 p2 p3 ok"}},
		{name: "left and come back", cut: 1, scripts: []string{"p1 p2 p3 ok", "p2 p3 ok"}, from: "p1",
			resumed: 1},
		{name: "some again", cut: 2, back: 1, scripts: []string{"p1 p2", "p2 p3 ok"}, from: "p1",
			resumed: 1, replayed: 1},
		{name: "broken by the host", scripts: []string{"p1", "p2", "p3 ok"}, from: "p2", resumed: 2},
		{name: "backwards", scripts: []string{"p1 p3 p2 ok"}, slips: "progress 2 after 3",
			gaps: "progress 3 after 1"},
		{name: "after the answer", scripts: []string{"p1 p2 p3 ok p4"},
			slips: "notifications/progress after the answer"},
		{name: "answered twice", scripts: []string{"p1 p2 p3 ok ok=x"},
			slips: "another answer after the answer"},
		{name: "an id twice", scripts: []string{"p1 p2=p1 p3 ok"}, slips: "two events have the id p1"},
		{name: "a gap at a resume", cut: 1, scripts: []string{"p1", "p3 ok"}, from: "p1",
			gaps: "progress 3 after 1", resumed: 1},
		{name: "one too many at a resume", cut: 2, scripts: []string{"p1 p2", "p2 p3 ok"}, from: "p2",
			slips: "two events have the id p2; progress 2 after 2", resumed: 1},
		{name: "one too few of those that come again", cut: 3, back: 2,
			scripts: []string{"p1 p2 p3", "p3 ok"}, from: "p1",
			gaps: "event p2 did not come again: next was p3", resumed: 1, replayed: 1},
		{name: "none of those that come again", cut: 2, back: 1, scripts: []string{"p1 p2", "p3 ok"},
			from: "p1",
			gaps: `event p2 did not come again: next was p3, with {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"n1`, resumed: 1},
		{name: "another message under its id", cut: 2, back: 1, scripts: []string{"p1 p2", "p3=p2 p3 ok"},
			from: "p1", slips: "event p2 came again as p2", resumed: 1},
		{name: "one of before those", cut: 3, back: 1, scripts: []string{"p1 p2 p3", "p1 ok"}, from: "p2",
			slips: "event p3 came again as p1", resumed: 1},
		{name: "a missing end", scripts: []string{"p1 p2 ok"}, gaps: "the answer after step 2 of 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			url, asked := scripted(t, test.scripts...)
			l := NewListener(listening(t, url))
			heard, got, err := l.Call(t.Context(), "n1-1", ListenOptions{
				Tool: "steps", Steps: 3, Cut: test.cut, Back: test.back,
			})
			if err != nil || got != "n1-1" {
				t.Errorf("%q, %v", got, err)
			}
			slips, gaps := strings.Join(heard.Slips, "; "), strings.Join(heard.Gaps, "; ")
			if !strings.HasPrefix(slips, test.slips) || test.slips == "" && slips != "" ||
				gaps != test.gaps {
				t.Errorf("slips %q, want %q; gaps %q, want %q", slips, test.slips, gaps, test.gaps)
			}
			if from := (*asked)[len(*asked)-1]; from != test.from || heard.Resumed != test.resumed ||
				heard.Replayed != test.replayed {
				t.Errorf("from %q, want %q; %+v, want %d resumed, %d replayed", from, test.from, heard,
					test.resumed, test.replayed)
			}
		})
	}
}

// A killed host has lost the messages of a call. The next host replays none of them and only sends
// the end of the call.
func TestListenerTakesTheEndOfACallWithItsHost(t *testing.T) {
	for script, gaps := range map[string]int{"restarted=b1": 0, "crashed=b1": 1} {
		url, _ := scripted(t, "p1 p2", script, "ok")
		l := NewListener(listening(t, url))
		heard, _, err := l.Call(t.Context(), "n1-1", ListenOptions{
			Tool: "steps", Steps: 3, Cut: 2, Back: 1,
		})
		var e *CallError
		if !errors.As(err, &e) || len(heard.Slips) != 0 || len(heard.Gaps) != gaps {
			t.Errorf("%s: %v, slips %q, gaps %q, want %d", script, err, heard.Slips, heard.Gaps, gaps)
		}
	}
}

// A stream that ends repeatedly without a message is not requested again at once.
func TestListenerIsPatientWithSilence(t *testing.T) {
	url, _ := scripted(t, "p1", "", "", "", "p2 p3 ok")
	began := time.Now()
	heard, _, err := NewListener(listening(t, url)).Call(t.Context(), "n1-1", ListenOptions{
		Tool: "steps", Steps: 3,
	})
	if took := time.Since(began); err != nil || heard.Resumed != 4 || took < 3*comeBack {
		t.Errorf("%+v, %v after %v, want three pauses of %v", heard, err, took, comeBack)
	}
}

// Each step restarts the timeout, and the number of steps is bounded. A call is not lost while it
// makes progress, however long it takes. A call that stops making progress is lost.
func TestListenerWaitsAsLongAsACallGetsOn(t *testing.T) {
	const timeout, each = 10 * time.Second, 6 * time.Second
	for _, test := range []struct {
		name  string
		steps []float64
		ends  bool
		lost  string
		at    time.Duration
	}{
		{name: "it gets on", steps: []float64{1, 2, 3}, ends: true, at: 3 * each},
		{name: "it does not begin", lost: "after 0 messages and step 0 of 3: context deadline exceeded",
			at: timeout},
		{name: "it gets stuck", steps: []float64{1, 2},
			lost: "after 2 messages and step 2 of 3: context deadline exceeded", at: 2*each + timeout},
		{name: "it does not get on", steps: []float64{1, 1, 1, 1},
			lost: "after 2 messages and step 1 of 3: context deadline exceeded", at: each + timeout},
		{name: "it gets on without an end", steps: []float64{.1, .2, .3, .4, .5, .6},
			lost: "after 4 messages and step 0.4 of 3: context deadline exceeded", at: 3*each + timeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := listening(t, "http://host")
				s.http.Transport = streaming(func(say func(id, data string)) {
					say("0", "")
					for i, step := range test.steps {
						time.Sleep(each)
						say(
							fmt.Sprint("p", i),
							fmt.Sprintf(
								`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"n1-1","progress":%g}}`, step,
							),
						)
					}
					if test.ends {
						say("ok", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"n1-1"}]}}`)
					}
				})
				began := time.Now()
				_, _, err := NewListener(s).Call(t.Context(), "n1-1", ListenOptions{
					Tool: "steps", Steps: 3, Timeout: timeout,
				})
				if took := time.Since(began); took != test.at {
					t.Errorf("over after %v, want %v", took, test.at)
				}
				time.Sleep(time.Hour) // lets the script end
				ledger := NewLedger(1)
				switch is, _ := ledger.Settle(ledger.Issue(), "", err); {
				case test.lost == "":
					if err != nil {
						t.Error(err)
					}
				case is != Lost || err.Error() != test.lost:
					t.Errorf("%d, %v, want lost: %s", is, err, test.lost)
				}
			})
		})
	}
}

// streaming answers each request with a stream. A stream lasts until the client leaves it or has
// the answer.
type streaming func(say func(id, data string))

func (f streaming) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { w.CloseWithError(context.Cause(r.Context())) })
	go f(func(id, data string) { // ends with the script: writes to an abandoned stream fail
		fmt.Fprintf(w, "id: %s\ndata: %s\n\n", id, data)
		if id == "ok" {
			w.Close()
		}
	})
	return &http.Response{StatusCode: http.StatusOK,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body}, nil
}

func TestListenerSaysWhyThereIsNoAnswer(t *testing.T) {
	url, _ := scripted(t, "p1 p2", "404")
	l := NewListener(listening(t, url))
	heard, _, err := l.Call(t.Context(), "n1-1", ListenOptions{Tool: "steps", Steps: 3})
	var status StatusError
	if !errors.As(err, &status) || status.Status != 404 || heard.Refused != 1 {
		t.Errorf("%+v, %v", heard, err)
	}
}
