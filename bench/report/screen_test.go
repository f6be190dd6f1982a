package report

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"mcpd/bench/record"
	"mcpd/internal/mcptest"
)

// measure is a script that is added to a copy of a page in order to measure how the page is
// displayed. The page itself has no scripts and forbids them.
const measure = `<script>
for (const d of document.querySelectorAll("details")) d.open = true;
const all = [...document.querySelectorAll("*")], shown = e => e.checkVisibility();
const over = (a, b) => { a = a.getBoundingClientRect(), b = b.getBoundingClientRect(); return a.right > b.left + 1 && b.right > a.left + 1 && a.bottom > b.top + 1 && b.bottom > a.top + 1; };
const labels = [...document.querySelectorAll(".plot .x, .plot .y")].map(axis => [...axis.children]);
document.title = JSON.stringify({
	wide: document.documentElement.scrollWidth - innerWidth,
	dark: getComputedStyle(document.body).backgroundColor,
	scripts: document.scripts.length,
	outside: performance.getEntriesByType("resource").length,
	flat: all.filter(e => e.matches(".chart svg") && shown(e) && (e.getBoundingClientRect().width < 100 || e.getBoundingClientRect().height < 50)).length,
	small: all.filter(e => shown(e) && e.children.length == 0 && e.textContent.trim() && parseFloat(getComputedStyle(e).fontSize) < 10).length,
	astray: all.filter(e => e.matches(".dot") && !over(e, e.parentElement)).length,
	clash: labels.filter(l => l.some((e, i) => l.slice(i + 1).some(f => over(e, f)))).length,
	cut: labels.flat().filter(e => e.getBoundingClientRect().left < -1).length,
});
</script>`

var (
	policy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)
	title  = regexp.MustCompile(`<title>(.*)</title>`)
)

func TestPageFitsItsScreen(t *testing.T) {
	full := committed(t)
	for _, test := range []struct {
		name  string
		list  []record.Record
		width int
		dark  bool
	}{
		{"desktop", []record.Record{sample(t), full}, 1280, false},
		{"phone", []record.Record{full}, 390, false},
		{"dark phone", []record.Record{sample(t)}, 390, true},
	} {
		page := append(policy.ReplaceAll([]byte(pageOf(t, test.list...)), nil), measure...)
		scheme, ground := 1, "rgb(252, 252, 250)"
		if test.dark {
			scheme, ground = 0, "rgb(21, 23, 26)"
		}
		dom := mcptest.Browse(t, page, "--dump-dom", fmt.Sprintf("--window-size=%d,2000", test.width),
			fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme))
		found := title.FindSubmatch(dom)
		if found == nil {
			t.Fatalf("%s: the page has no title: %.200s", test.name, dom)
		}
		got, want := html.UnescapeString(string(found[1])),
			fmt.Sprintf(
				`{"wide":0,"dark":%q,"scripts":1,"outside":0,"flat":0,"small":0,"astray":0,"clash":0,"cut":0}`,
				ground,
			)
		if got != want {
			t.Errorf("%s: got %s, want %s", test.name, got, want)
		}
	}
}

// A printed page has several sheets. Everything that is folded on a screen is printed unfolded or
// left out, and nothing is cut off at the side.
func TestPageIsPrinted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.pdf")
	mcptest.Browse(t, []byte(pageOf(t, committed(t))), "--no-pdf-header-footer",
		"--print-to-pdf="+file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if sheets := len(regexp.MustCompile(`/Type ?/Page\b`).FindAll(text, -1)); sheets < 3 {
		t.Errorf("%d sheets of a whole run", sheets)
	}
}

// committed returns the record in docs.
func committed(t *testing.T) record.Record {
	t.Helper()
	f, err := os.Open(filepath.Join(docs, "benchmarks.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := record.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
