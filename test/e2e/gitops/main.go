// Syncs and compares objects with the code of Argo CD and Flux, and asks both for their health. It reads one request, and prints JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/wI2L/jsondiff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type request struct {
	// argocd, argocd-structured-merge, argocd-server-side, flux or flux-helm.
	Tool string `json:"tool"`
	// sync, diff or health.
	Action string `json:"action"`
	// The namespace of the namespaced objects that have none.
	Namespace string            `json:"namespace"`
	Objects   []json.RawMessage `json:"objects"`
	// As in an Application of Argo CD.
	IgnoreDifferences        []ignoreDifference `json:"ignoreDifferences"`
	RespectIgnoreDifferences bool               `json:"respectIgnoreDifferences"`
	// The script of `health`, as in the ConfigMap argocd-cm.
	Script string `json:"script"`
}

// One answer for each object.
type answer struct {
	// Kind/namespace/name.
	Object string `json:"object"`
	// The operations that make the live object equal to the wanted one, such as `replace /spec/replicas`.
	Differences []string `json:"differences,omitempty"`
	// What Flux did: created, configured, unchanged or skipped.
	Change string `json:"change,omitempty"`
	// What kstatus says, which Flux waits for.
	Kstatus string `json:"kstatus,omitempty"`
	// What the script says, as Argo CD shows it.
	Health  string `json:"health,omitempty"`
	Message string `json:"message,omitempty"`
	Error   string `json:"error,omitempty"`
}

type tool interface {
	sync(ctx context.Context, objects []*unstructured.Unstructured) ([]answer, error)
	diff(ctx context.Context, objects []*unstructured.Unstructured) ([]answer, error)
}

func main() {
	answers, err := run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}

func run(ctx context.Context) ([]answer, error) {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return nil, fmt.Errorf("cannot read the request: %w", err)
	}
	if asked.Action == "health" {
		return healthOf(asked)
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	// Argo CD writes a kubeconfig of its own, with the certificates in it.
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 100, 200
	api, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	objects, err := objectsOf(asked, api)
	if err != nil {
		return nil, err
	}
	var used tool
	switch asked.Tool {
	case "flux":
		used = newFlux(api)
	case "flux-helm":
		used, err = newFluxHelm(config, api, asked)
	default:
		used, err = newArgoCD(config, api, asked)
	}
	if err != nil {
		return nil, err
	}
	if asked.Action == "sync" {
		return used.sync(ctx, objects)
	}
	return used.diff(ctx, objects)
}

func objectsOf(asked request, api client.Client) ([]*unstructured.Unstructured, error) {
	objects := []*unstructured.Unstructured{}
	for _, raw := range asked.Objects {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return nil, err
		}
		namespaced, err := api.IsObjectNamespaced(object)
		if err != nil {
			return nil, err
		}
		if namespaced && object.GetNamespace() == "" {
			object.SetNamespace(asked.Namespace)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func nameOf(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s/%s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
}

// Returns the live object, or nil.
func live(ctx context.Context, api client.Client, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(object.GroupVersionKind())
	err := api.Get(ctx, client.ObjectKeyFromObject(object), found)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	return found, nil
}

func differences(live, wanted any) ([]string, error) {
	patch, err := jsondiff.Compare(live, wanted)
	if err != nil {
		return nil, err
	}
	found := []string{}
	for _, operation := range patch {
		found = append(found, operation.Type+" "+operation.Path)
	}
	return found, nil
}
