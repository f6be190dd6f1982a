// Command protogen writes the Go code of proto/mcpd/v1 into proto/gen. It is protoc and
// protoc-gen-go in one process, so neither has to be installed. It does not depend on the meaning
// of the messages.
//
//	go -C internal/tools run ./protogen          write
//	go -C internal/tools run ./protogen -check   write nothing, fail on a difference
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const (
	sources   = "proto"     // import paths in .proto files start here
	generated = "proto/gen" // only generated files are in here
)

func main() {
	root := flag.String("root", "../..", "the project's root, from internal/tools")
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	want, err := generate(filepath.Join(root, sources))
	if err != nil {
		return err
	}
	stale, err := stale(root, want)
	if err != nil {
		return err
	}
	if check {
		return compare(root, want, stale)
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(root, name)); err != nil {
			return err
		}
	}
	for name, content := range want {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the contents of the generated files, by path from the project's root.
func generate(dir string) (map[string][]byte, error) {
	names, err := protoFiles(dir)
	if err != nil {
		return nil, err
	}
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
			ImportPaths: []string{dir},
		}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return nil, err
	}
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: names,
		Parameter:      proto.String("module=mcpd"),
		ProtoFile:      withImports(files),
	})
	if err != nil {
		return nil, err
	}
	plugin.SupportedFeatures = internal_gengo.SupportedFeatures
	for _, file := range plugin.Files {
		if file.Generate {
			internal_gengo.GenerateFile(plugin, file)
		}
	}
	response := plugin.Response()
	if response.Error != nil {
		return nil, errors.New(response.GetError())
	}
	out := make(map[string][]byte, len(names))
	for _, file := range response.File {
		out[file.GetName()] = []byte(file.GetContent())
	}
	return out, nil
}

func protoFiles(dir string) ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".proto" {
			names = append(names, path)
		}
		return err
	})
	return names, err
}

// withImports returns the descriptors of the files and of everything they import. Each descriptor
// comes after those that it imports, which is the order that a code generator requires.
func withImports(files linker.Files) []*descriptorpb.FileDescriptorProto {
	var out []*descriptorpb.FileDescriptorProto
	seen := make(map[string]bool)
	var add func(protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) {
		if seen[file.Path()] {
			return
		}
		seen[file.Path()] = true
		for i := range file.Imports().Len() {
			add(file.Imports().Get(i).FileDescriptor)
		}
		out = append(out, protoutil.ProtoFromFileDescriptor(file))
	}
	for _, file := range files {
		add(file)
	}
	return out
}

// stale lists the generated files that no .proto file generates any more.
func stale(root string, want map[string][]byte) ([]string, error) {
	var out []string
	err := fs.WalkDir(os.DirFS(root), generated, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() && want[path] == nil {
			out = append(out, path)
		}
		return err
	})
	return out, err
}

func compare(root string, want map[string][]byte, stale []string) error {
	differ := slices.Clone(stale)
	for name, content := range want {
		have, err := os.ReadFile(filepath.Join(root, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !bytes.Equal(have, content) {
			differ = append(differ, name)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	slices.Sort(differ)
	return fmt.Errorf(
		"%q are not what proto/mcpd/v1 generates: run go -C internal/tools run ./protogen", differ,
	)
}
