package record

import (
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxFile bounds a record, in bytes. The record of a full run has some hundred KiB.
const maxFile = 64 << 20

// Write writes a record as JSON.
func Write(w io.Writer, r Record) error {
	r.Format = Format
	return json.MarshalWrite(w, r, jsontext.WithIndent("  "))
}

// Read reads a record.
func Read(from io.Reader) (r Record, err error) {
	text, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	switch {
	case err != nil:
		return r, err
	case len(text) > maxFile:
		return r, fmt.Errorf("a record of more than %d bytes", maxFile)
	}
	var form struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return r, fmt.Errorf("no record: %w", err)
	}
	if form.Format != Format {
		return r, fmt.Errorf("a record of format %d, want %d", form.Format, Format)
	}
	// such as the record of another program
	if err := json.Unmarshal(text, &r, json.RejectUnknownMembers(true)); err != nil {
		return r, fmt.Errorf("no record: %w", err)
	}
	return r, nil
}
