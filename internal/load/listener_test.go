package load

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// scripted is a server whose streams are scripts: the first answers the call, each further one a GET. Words of a script are p1, p2… for progress and
// ok for the answer, each with its number as its event's id, unless =ID says another; restarted and crashed are errors. A script of one number is a
// status.
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
				"restarted": "the host was restarted during the request; a server may have executed it", "crashed": "the server crashed",
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

// listening is a session that was opened.
func listening(t *testing.T, url string) *Session {
	s := &Session{options: SessionOptions{URL: url}, headers: http.Header{}}
	t.Cleanup(s.Rest)
	return s
}

func TestListenerFindsOutWhatIsOutOfOrder(t *testing.T) {
	for _, test := range []struct {
		name      string
		cut, back int
		scripts   []string
		from      string // the last id that was asked from
		slips     string
		gaps      string
		resumed   uint64
		replayed  uint64
	}{
		{name: "all in order", scripts: []string{"p1 p2 p3 ok"}},
		{name: "left and come back", cut: 1, scripts: []string{"p1 p2 p3 ok", "p2 p3 ok"}, from: "p1", resumed: 1},
		{name: "some again", cut: 2, back: 1, scripts: []string{"p1 p2", "p2 p3 ok"}, from: "p1", resumed: 1, replayed: 1},
		{name: "broken by the host", scripts: []string{"p1", "p2", "p3 ok"}, from: "p2", resumed: 2},
		{name: "backwards", scripts: []string{"p1 p3 p2 ok"}, slips: "progress 2 after 3", gaps: "progress 3 after 1"},
		{name: "after the answer", scripts: []string{"p1 p2 p3 ok p4"}, slips: "notifications/progress after the answer"},
		{name: "answered twice", scripts: []string{"p1 p2 p3 ok ok=x"}, slips: "another answer after the answer"},
		{name: "an id twice", scripts: []string{"p1 p2=p1 p3 ok"}, slips: "two events have the id p1"},
		{name: "a gap at a resume", cut: 1, scripts: []string{"p1", "p3 ok"}, from: "p1", gaps: "progress 3 after 1", resumed: 1},
		{name: "one too many at a resume", cut: 2, scripts: []string{"p1 p2", "p2 p3 ok"}, from: "p2", slips: "two events have the id p2; progress 2 after 2", resumed: 1},
		{name: "one too few of those that come again", cut: 3, back: 2, scripts: []string{"p1 p2 p3", "p3 ok"}, from: "p1", gaps: "event p2 did not come again: next was p3", resumed: 1, replayed: 1},
		{name: "none of those that come again", cut: 2, back: 1, scripts: []string{"p1 p2", "p3 ok"}, from: "p1", gaps: `event p2 did not come again: next was p3, with {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"n1`, resumed: 1},
		{name: "another message under its id", cut: 2, back: 1, scripts: []string{"p1 p2", "p3=p2 p3 ok"}, from: "p1", slips: "event p2 came again as p2", resumed: 1},
		{name: "one of before those", cut: 3, back: 1, scripts: []string{"p1 p2 p3", "p1 ok"}, from: "p2", slips: "event p3 came again as p1", resumed: 1},
		{name: "a missing end", scripts: []string{"p1 p2 ok"}, gaps: "the answer after step 2 of 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			url, asked := scripted(t, test.scripts...)
			l := NewListener(listening(t, url))
			heard, got, err := l.Call(t.Context(), "n1-1", Listening{Tool: "steps", Steps: 3, Cut: test.cut, Back: test.back})
			if err != nil || got != "n1-1" {
				t.Errorf("%q, %v", got, err)
			}
			slips, gaps := strings.Join(heard.Slips, "; "), strings.Join(heard.Gaps, "; ")
			if !strings.HasPrefix(slips, test.slips) || test.slips == "" && slips != "" || gaps != test.gaps {
				t.Errorf("slips %q, want %q; gaps %q, want %q", slips, test.slips, gaps, test.gaps)
			}
			if from := (*asked)[len(*asked)-1]; from != test.from || heard.Resumed != test.resumed || heard.Replayed != test.replayed {
				t.Errorf("from %q, want %q; %+v, want %d resumed, %d replayed", from, test.from, heard, test.resumed, test.replayed)
			}
		})
	}
}

// A host that was killed has taken along what it told of a call: of that nothing comes again but its end.
func TestListenerTakesTheEndOfACallWithItsHost(t *testing.T) {
	for script, gaps := range map[string]int{"restarted=b1": 0, "crashed=b1": 1} {
		url, _ := scripted(t, "p1 p2", script, "ok")
		l := NewListener(listening(t, url))
		heard, _, err := l.Call(t.Context(), "n1-1", Listening{Tool: "steps", Steps: 3, Cut: 2, Back: 1})
		var e *CallError
		if !errors.As(err, &e) || len(heard.Slips) != 0 || len(heard.Gaps) != gaps {
			t.Errorf("%s: %v, slips %q, gaps %q, want %d", script, err, heard.Slips, heard.Gaps, gaps)
		}
	}
}

// A stream that ends again and again without a word is not asked for in a hurry.
func TestListenerIsPatientWithSilence(t *testing.T) {
	url, _ := scripted(t, "p1", "", "", "", "p2 p3 ok")
	began := time.Now()
	heard, _, err := NewListener(listening(t, url)).Call(t.Context(), "n1-1", Listening{Tool: "steps", Steps: 3})
	if took := time.Since(began); err != nil || heard.Resumed != 4 || took < 3*comeBack {
		t.Errorf("%+v, %v after %v, want three pauses of %v", heard, err, took, comeBack)
	}
}

func TestListenerSaysWhyThereIsNoAnswer(t *testing.T) {
	url, _ := scripted(t, "p1 p2", "404")
	l := NewListener(listening(t, url))
	heard, _, err := l.Call(t.Context(), "n1-1", Listening{Tool: "steps", Steps: 3})
	var status StatusError
	if !errors.As(err, &status) || status != 404 || heard.Refused != 1 {
		t.Errorf("%+v, %v", heard, err)
	}
}
