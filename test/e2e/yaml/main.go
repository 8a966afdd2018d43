// Prints what kubectl reads from YAML files: a line of JSON for each, with its documents or the error.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

type result struct {
	Documents []json.RawMessage `json:"documents"`
	Error     string            `json:"error,omitempty"`
}

// As the StreamVisitor of kubectl (k8s.io/cli-runtime, pkg/resource/visitor.go).
func read(text []byte) result {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	found := result{Documents: []json.RawMessage{}}
	for {
		extension := runtime.RawExtension{}
		if err := decoder.Decode(&extension); err != nil {
			if !errors.Is(err, io.EOF) {
				found.Error = err.Error()
			}
			return found
		}
		raw := bytes.TrimSpace(extension.Raw)
		if len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
			found.Documents = append(found.Documents, raw)
		}
	}
}

func main() {
	output := json.NewEncoder(os.Stdout)
	for _, file := range os.Args[1:] {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		if err := output.Encode(read(text)); err != nil {
			panic(err)
		}
	}
}
