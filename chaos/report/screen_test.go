package report

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"html"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"mcpd/chaos/record"
	"mcpd/internal/mcptest"
)

func pageOf(t *testing.T, list []record.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, list); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// measure is a script that is added to a copy of a page in order to measure how the page is
// displayed. The page itself has no scripts and forbids them.
const measure = `<script>
const all = [...document.querySelectorAll("*")], shown = e => e.checkVisibility();
document.title = JSON.stringify({
	wide: document.documentElement.scrollWidth - innerWidth,
	dark: getComputedStyle(document.body).backgroundColor,
	scripts: document.scripts.length,
	outside: performance.getEntriesByType("resource").length,
	flat: all.filter(e => e.matches(".panel svg, .lane svg, .hist svg") && shown(e) && (e.getBoundingClientRect().width < 100 || e.getBoundingClientRect().height < 10)).length,
	small: all.filter(e => shown(e) && e.children.length == 0 && e.textContent.trim() && parseFloat(getComputedStyle(e).fontSize) < 10).length,
});
</script>`

var policy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

func TestPageFitsItsScreen(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	spoiled := samples()
	for i := range spoiled {
		spoil(random, reflect.ValueOf(&spoiled[i]).Elem(), 8)
	}
	title := regexp.MustCompile(`<title>(.*)</title>`)
	for _, test := range []struct {
		name  string
		list  []record.Record
		width int
		dark  bool
	}{
		{"desktop", samples(), 1280, false}, {"phone", samples(), 390, false},
		{"dark phone", samples()[:1], 390, true}, {"spoiled", spoiled, 390, false},
	} {
		page := append(policy.ReplaceAll(pageOf(t, test.list), nil), measure...)
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
			fmt.Sprintf(`{"wide":0,"dark":%q,"scripts":1,"outside":0,"flat":0,"small":0}`, ground)
		if got != want {
			t.Errorf("%s: got %s, want %s", test.name, got, want)
		}
	}
}

// picture is the screenshot in docs.
const picture = "../../docs/chaos-report.png"

// recorded is a record that `mcpd chaos run kill-busy-child` has written.
const recorded = "testdata/kill-busy-child.json.gz"

func readRecorded(t *testing.T) []record.Record {
	t.Helper()
	f, err := os.Open(recorded)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	list, err := record.Read(plain)
	if err != nil {
		t.Fatalf("%s: %v", recorded, err)
	}
	return list
}

func TestRealRecordIsShown(t *testing.T) { sound(t, recorded, readRecorded(t)) }

// The size of the picture in CSS pixels, and its maximum size in bytes.
const (
	pictureWidth  = 1280
	pictureHeight = 1120
	pictureBytes  = 200 << 10
)

func TestPictureOfTheReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.png")
	mcptest.Browse(t, pageOf(t, readRecorded(t)), "--screenshot="+file,
		fmt.Sprintf("--window-size=%d,%d", pictureWidth, pictureHeight),
		"--blink-settings=preferredColorScheme=1")
	shot := readPicture(t, file)
	colours := map[[3]uint32]int{}
	for y := range pictureHeight {
		for x := range pictureWidth {
			r, g, b, _ := shot.At(x, y).RGBA()
			colours[[3]uint32{r >> 8, g >> 8, b >> 8}]++
		}
	}
	// the background, the areas of target and bystanders, and the bands of the fault
	for _, c := range [][3]uint32{{0xfc, 0xfc, 0xfa}, {0xef, 0xd3, 0xc0}, {0xc9, 0xdc, 0xee},
		{0xe2, 0xd7, 0xb4}} {
		if n := colours[c]; n < 1000 {
			t.Errorf("the picture has %d pixels of #%02x%02x%02x", n, c[0], c[1], c[2])
		}
	}
	if *update {
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, shot); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(picture, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	readPicture(t, picture)
	if info, err := os.Stat(picture); err != nil || info.Size() > pictureBytes {
		t.Errorf("%s: %v, %v, want at most %d bytes", picture, info, err, pictureBytes)
	}
}

func readPicture(t *testing.T, file string) image.Image {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	shot, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shot.Bounds().Size(), image.Pt(pictureWidth, pictureHeight); got != want {
		t.Errorf("%s has %v pixels, want %v", file, got, want)
	}
	return shot
}
