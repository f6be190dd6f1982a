package record

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxSize bounds the total input of Read, in bytes. The record of an hour of fifty tenants, second
// by second, takes a tenth of it.
const MaxSize = 256 << 20

// Write writes a record as one JSON value and a line break, so that files of records can be
// concatenated. Numbers that are not finite become null. Bytes in a host's texts that are not UTF-8
// become U+FFFD.
func Write(w io.Writer, r Record) error {
	r.Format = Format
	data, err := json.Marshal(r, json.WithMarshalers(json.MarshalToFunc(writeNumber)),
		jsontext.AllowInvalidUTF8(true), json.Deterministic(true), jsontext.WithIndent(" "))
	if err != nil {
		return fmt.Errorf("record of %q: %w", r.Experiment.Name, err)
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// ErrNone says that the input is no record.
var ErrNone = errors.New("no record of an experiment")

// Read reads concatenated records up to the end of the input. There must be at least one. An
// unknown format, an unknown member and invalid JSON are errors that give the position.
func Read(from io.Reader) ([]Record, error) {
	limited := &io.LimitedReader{R: from, N: MaxSize + 1}
	in := jsontext.NewDecoder(limited)
	var list []Record
	for {
		value, err := in.ReadValue()
		switch {
		case limited.N <= 0:
			return nil, fmt.Errorf("record %d: more than %d MiB in all", len(list)+1, MaxSize>>20)
		case errors.Is(err, io.EOF) && len(list) > 0:
			return list, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("no record: nothing is there")
		case err != nil:
			return nil, fmt.Errorf("record %d: %w: it is no JSON: %w", len(list)+1, ErrNone, err)
		}
		r, err := read(value)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", len(list)+1, err)
		}
		list = append(list, r)
	}
}

// read reads one record. It checks the format first, because the content of an unknown format means
// nothing.
func read(value jsontext.Value) (r Record, err error) {
	var is struct {
		Format *uint64 `json:"format"`
	}
	switch err := json.Unmarshal(value, &is); {
	case err != nil:
		return r, fmt.Errorf("%w: %w", ErrNone, err)
	case is.Format == nil:
		return r, fmt.Errorf("%w: it has no format", ErrNone)
	case *is.Format != Format:
		return r, fmt.Errorf(
			"its format is %d, and only %d is known here: read it with the mcpd that wrote it", *is.Format,
			Format,
		)
	}
	err = json.Unmarshal(value, &r, json.WithUnmarshalers(json.UnmarshalFromFunc(readNumber)),
		json.RejectUnknownMembers(true))
	return r, err
}

// writeNumber writes a number that is not finite as null, because JSON has no such numbers.
func writeNumber(out *jsontext.Encoder, v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return out.WriteToken(jsontext.Null)
	}
	return errors.ErrUnsupported
}

func readNumber(in *jsontext.Decoder, v *float64) error {
	if in.PeekKind() != 'n' {
		return errors.ErrUnsupported
	}
	*v = math.NaN()
	_, err := in.ReadToken()
	return err
}
