package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"mcpd/chaos/record"
)

var update = flag.Bool("update", false, "rewrite what is in testdata, and the picture in docs")

// samples is a run of three experiments. They are short so that the files in testdata can be read.
func samples() []record.Record {
	alone := sample{name: "one-alone", title: "Nothing is broken & nobody is there", seed: 9,
		seconds: 2}.record()
	alone.Strikes, alone.Groups, alone.Verdicts, alone.Rows, alone.Effects = nil, alone.Groups[:1],
		nil, nil, &record.Effects{Asked: 1200, Answered: 1200, Done: 1200}
	alone.Aborted = "the host did not answer for 2 s"
	noisy := sample{name: "noisy-tenant", title: "One tenant floods", kind: "tenant.flood", seed: 3,
		seconds: 3, leak: true}.record()
	noisy.Groups[1].Violations = []record.Violation{
		{At: 4.2, Kind: "crossed", Text: "the answer was that of initech's call 17"},
	}
	noisy.Groups[1].Streams = &record.StreamCalls{
		Calls: 18, OK: 17, Failed: 1, Events: 155, Resumed: 9, Refused: 1, Replayed: 21, Slips: 1,
	}
	noisy.Effects = &record.Effects{
		Asked: 540, Answered: 538, Done: 540, Doubled: 1, Twice: []string{"globex: n1-40"},
		Uncounted: "initech: no such tool",
	}
	noisy.Strikes[4].Error = "no such row"
	noisy.Experiment.Short, noisy.Experiment.Contends = true, true
	short := hang
	short.seconds = 4
	return []record.Record{short.record(), noisy, alone}
}

// style matches the style sheet, which is not compared because it is a file of its own.
var style = regexp.MustCompile(`(?s)<style>.*</style>`)

func TestReportsAreAsTheyWere(t *testing.T) {
	for _, test := range []struct {
		file  string
		write func(io.Writer, []record.Record) error
		list  []record.Record
	}{
		{"run.txt", Text, samples()}, {"run.xml", JUnit, samples()}, {"run.html", HTML, samples()},
		{"one.html", HTML, samples()[:1]}, {"none.html", HTML, nil},
	} {
		var b bytes.Buffer
		if err := test.write(&b, test.list); err != nil {
			t.Fatal(err)
		}
		got := style.ReplaceAll(b.Bytes(), []byte("<style></style>"))
		file := filepath.Join("testdata", test.file)
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			t.Errorf("%s differs at %d: got …%.200s, want …%.200s; -update rewrites it", file, at,
				got[max(0, at-40):], want[min(max(0, at-40), len(want)):])
		}
	}
}
