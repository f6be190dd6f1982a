package store

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Format is the version of the layout of the log and of its values. The first line of the log names
// it. A log of another version is set aside.
const Format = "1"

// maxLine bounds a line, in bytes: far more than a session can need.
const maxLine = 4 << 20

// sumLen is the length of the prefix of a line: the CRC-32C of the text, in hex, and a space.
const sumLen = 9

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errTorn   = errors.New("the last line has no end")
	errSum    = errors.New("the checksum of a line does not match")
	errLong   = fmt.Errorf("a line has more than %d bytes", maxLine)
	errEmpty  = errors.New("the file is empty")
	errFormat = errors.New("the first line does not say that this is a state log")
)

// record is the text of a line.
type record struct {
	Bucket Bucket         `json:"b"`
	Key    string         `json:"k"`
	Value  jsontext.Value `json:"v,omitzero"`
}

// header is the text of the first line.
type header struct {
	Format string `json:"mcpd_state"`
}

// probeLen makes a probe longer than the free space that may remain behind the end of a file on a
// full disk: a block has 4096 bytes.
const probeLen = 4096

// Probe returns a change without effect, to test whether changes can be written. Its line is
// garbage at once.
func Probe() Change { return Change{Key: strings.Repeat("0", probeLen)} }

// Check returns an error if the change can never be written: its value is no JSON, or its line
// would have 4 MiB or more.
func (c Change) Check() error {
	_, err := appendLine(nil, c)
	return err
}

// appendLine appends a change as a line. It returns an error for a value that is no JSON.
func appendLine(dst []byte, c Change) ([]byte, error) { return appendText(dst, record(c)) }

func appendText(dst []byte, v any) ([]byte, error) {
	// The option keeps the value as it is, to the byte.
	text, err := json.Marshal(v, jsontext.PreserveRawStrings(true))
	if err == nil && len(text)+sumLen >= maxLine {
		err = errLong
	}
	if err != nil {
		return dst, err
	}
	dst = sum(dst, text)
	dst = append(dst, ' ')
	dst = append(dst, text...)
	return append(dst, '\n'), nil
}

func sum(dst, text []byte) []byte {
	n := crc32.Checksum(text, castagnoli)
	return hex.AppendEncode(dst, []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// text checks the sum of a line and returns its text.
func text(line []byte) ([]byte, error) {
	if len(line) < sumLen || !bytes.Equal(sum(nil, line[sumLen:]), line[:sumLen-1]) {
		return nil, errSum
	}
	return line[sumLen:], nil
}

func parseLine(line []byte) (c Change, err error) {
	t, err := text(line)
	if err != nil {
		return c, err
	}
	var r record
	if err := json.Unmarshal(t, &r); err != nil {
		return c, err
	}
	return Change(r), nil
}

// reader reads a log from its beginning.
type reader struct {
	r  *bufio.Reader
	at int64 // offset behind the last line
}

func newReader(f *os.File) *reader {
	return &reader{r: bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 64<<10)}
}

// header reads the first line.
func (r *reader) header() error {
	line, err := r.line()
	if errors.Is(err, io.EOF) {
		return errEmpty
	}
	if err != nil {
		return errFormat
	}
	t, err := text(line)
	if err != nil {
		return errFormat
	}
	var a header
	if err := json.Unmarshal(t, &a); err != nil || a.Format == "" {
		return errFormat
	}
	if a.Format != Format {
		return fmt.Errorf("the state is of format %q, this program reads %q", a.Format, Format)
	}
	return nil
}

// next reads the next change. After an error other than io.EOF and errTorn it can be called again
// and continues with the next line.
func (r *reader) next() (Change, error) {
	line, err := r.line()
	if err != nil {
		return Change{}, err
	}
	return parseLine(line)
}

// line reads the next line and returns it without its end.
func (r *reader) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := r.r.ReadSlice('\n')
		r.at += int64(len(piece))
		if long = long || len(line)+len(piece) > maxLine; !long {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) == 0 && !long:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, errTorn
		case err != nil:
			return nil, err
		case long:
			return nil, errLong
		default:
			return bytes.TrimSuffix(line, []byte("\n")), nil
		}
	}
}
