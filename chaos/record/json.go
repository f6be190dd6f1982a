package record

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxSize bounds what Read takes in all, in bytes: an hour of fifty tenants, second by second, is a tenth of it.
const MaxSize = 256 << 20

// Write writes a record as one JSON value and a line break, so that files of records can be joined. What is not a number is null. Bytes of a host's
// texts that are not UTF-8 become U+FFFD.
func Write(w io.Writer, r Record) error {
	r.Format = Format
	data, err := json.Marshal(r, json.WithMarshalers(json.MarshalToFunc(writeNumber)), jsontext.AllowInvalidUTF8(true), json.Deterministic(true), jsontext.WithIndent(" "))
	if err != nil {
		return fmt.Errorf("record of %q: %w", r.Experiment.Name, err)
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// ErrNone says that something was read that is no record at all.
var ErrNone = errors.New("no record of an experiment")

// Read reads the records that follow one another to the end, of which there is at least one. A form that it does not know, a member that the form
// does not have and what is no JSON are errors that say where.
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

// read reads one record. The form comes first: of one that it does not know, what else is in it says nothing.
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
		return r, fmt.Errorf("its format is %d, and only %d is known here: read it with the mcpd that wrote it", *is.Format, Format)
	}
	err = json.Unmarshal(value, &r, json.WithUnmarshalers(json.UnmarshalFromFunc(readNumber)), json.RejectUnknownMembers(true))
	return r, err
}

// JSON has no word for what is not a number, as a share of nothing.

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
