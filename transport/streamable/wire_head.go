package streamable

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const (
	http11  = "HTTP/1.1"
	newline = "\r\n"
	// maxDigits is the maximum length of a decimal length that is parsed here. No message is nearly as
	// long.
	maxDigits = 15
)

// plainHead parses the head of a response that has arrived completely and has no unusual feature,
// with the same result as http.ReadResponse. For any other response it consumes nothing and returns
// nil, and net/http parses that response. It never waits.
func plainHead(in *bufio.Reader) *http.Response {
	there, _ := in.Peek(in.Buffered()) // the length is what is buffered, so it cannot fail
	end := bytes.Index(there, []byte(newline+newline))
	if end < 0 {
		return nil
	}
	text, ok := strings.CutPrefix(string(there[:end]), http11+" ")
	if !ok {
		return nil
	}
	status, fields, _ := strings.Cut(text, newline)
	code := plainStatus(status)
	header, length := plainFields(fields)
	if code == 0 || length < 0 {
		return nil
	}
	_, _ = in.Discard(end + len(newline+newline)) // it is buffered
	resp := &http.Response{
		Status: status, StatusCode: code, Proto: http11, ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: length, Body: http.NoBody,
	}
	if length > 0 {
		resp.Body = &lengthBody{in, length}
	}
	return resp
}

// plainStatus returns the code of a status line such as "200 OK" for a final response that may have
// a body, and 0 for any other.
func plainStatus(status string) int {
	code, reason, ok := strings.Cut(status, " ")
	n, err := strconv.Atoi(code)
	if !ok || err != nil || len(code) != 3 || reason == "" || reason[0] == ' ' || !isValue(reason) {
		return 0
	}
	if n < 200 || n == http.StatusNoContent || n == http.StatusNotModified {
		return 0
	}
	return n
}

// plainFields returns the fields of a head and the length of the body. The length is -1 if the end
// of the body is defined in another way, or if net/http has to interpret a field.
func plainFields(fields string) (http.Header, int64) {
	n := strings.Count(fields, newline) + 1
	header, values := make(http.Header, n), make([]string, 0, n)
	length := int64(-1)
	for fields != "" {
		var line string
		line, fields, _ = strings.Cut(fields, newline)
		name, value, ok := strings.Cut(line, ": ")
		if !ok || !isName(name) || value == "" || !isValue(value) || strings.Trim(value, " \t") != value {
			return nil, -1
		}
		name = http.CanonicalHeaderKey(name)
		switch name {
		// These determine how to read on, or stand for another field.
		case "Connection", "Transfer-Encoding", "Trailer", "Pragma":
			return nil, -1
		case "Content-Length":
			digits, err := strconv.ParseUint(value, 10, 63)
			if length >= 0 || err != nil || len(value) > maxDigits {
				return nil, -1
			}
			length = int64(digits)
		}
		if header[name] != nil {
			header[name] = append(header[name], value)
			continue
		}
		values = append(values, value)
		header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	return header, length
}

// lengthBody is a body of known length.
type lengthBody struct {
	in   *bufio.Reader
	left int64
}

func (b *lengthBody) Read(p []byte) (n int, err error) {
	if n, err = b.in.Read(p[:min(int64(len(p)), b.left)]); err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if b.left -= int64(n); b.left == 0 {
		err = io.EOF
	}
	return n, err
}

// Close has no effect: the reader of the connection knows if there is more.
func (b *lengthBody) Close() error { return nil }
