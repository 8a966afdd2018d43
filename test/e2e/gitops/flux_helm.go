package main

import (
	"context"
	"encoding/json"

	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/fluxcd/pkg/ssa/normalize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const helmController = "helm-controller"

// The drift detection of helm-controller: its package internal/action cannot be imported, so this file calls what its diff.go calls. The
// rest of that controller, which fetches charts and runs Helm, is not needed for it.
type fluxHelm struct {
	api    client.Client
	dryRun client.Client
	// The namespace of the release.
	namespace string
}

func newFluxHelm(config *rest.Config, api client.Client, asked request) (tool, error) {
	isDryRun := true
	dryRun, err := client.New(config, client.Options{DryRun: &isDryRun})
	if err != nil {
		return nil, err
	}
	return fluxHelm{api: api, dryRun: dryRun, namespace: asked.Namespace}, nil
}

// Installs what is missing, with server-side apply as Helm 4 does, and corrects what drifted (`driftDetection.mode: enabled`).
func (f fluxHelm) sync(ctx context.Context, objects []*unstructured.Unstructured) ([]answer, error) {
	for _, object := range objects {
		found, err := live(ctx, f.api, object)
		if err != nil {
			return nil, err
		}
		if found != nil {
			continue
		}
		missing := object.DeepCopy()
		f.setHelmMetadata(missing)
		if err := f.api.Apply(ctx, client.ApplyConfigurationFromUnstructured(missing), client.FieldOwner(helmController)); err != nil {
			return nil, err
		}
	}
	set, err := f.compare(ctx, objects)
	if err != nil {
		return nil, err
	}
	answers := []answer{}
	for _, found := range set {
		if found.Type == jsondiff.DiffTypeUpdate {
			if err := f.correct(ctx, found); err != nil {
				return nil, err
			}
		}
		answers = append(answers, answerOf(found))
	}
	return answers, nil
}

// As `ApplyDiff` of helm-controller.
func (f fluxHelm) correct(ctx context.Context, found *jsondiff.Diff) error {
	patch, err := json.Marshal(found.Patch)
	if err != nil {
		return err
	}
	object := found.DesiredObject.DeepCopyObject().(client.Object)
	return f.api.Patch(ctx, object, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(helmController))
}

func (f fluxHelm) diff(ctx context.Context, objects []*unstructured.Unstructured) ([]answer, error) {
	set, err := f.compare(ctx, objects)
	if err != nil {
		return nil, err
	}
	answers := []answer{}
	for _, found := range set {
		answers = append(answers, answerOf(found))
	}
	return answers, nil
}

// As `Diff` of helm-controller, with its options.
func (f fluxHelm) compare(ctx context.Context, objects []*unstructured.Unstructured) (jsondiff.DiffSet, error) {
	if err := normalize.UnstructuredListWithScheme(objects, f.dryRun.Scheme()); err != nil {
		return nil, err
	}
	for _, object := range objects {
		f.setHelmMetadata(object)
	}
	return jsondiff.UnstructuredList(ctx, f.dryRun, objects,
		jsondiff.FieldOwner(helmController),
		jsondiff.ExclusionSelector{"helm.toolkit.fluxcd.io/driftDetection": "disabled"},
		jsondiff.Rationalize(true),
		jsondiff.Graceful(true),
	)
}

func (f fluxHelm) setHelmMetadata(object *unstructured.Unstructured) {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels["app.kubernetes.io/managed-by"] = "Helm"
	annotations["meta.helm.sh/release-name"] = "example"
	annotations["meta.helm.sh/release-namespace"] = f.namespace
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
}

func answerOf(found *jsondiff.Diff) answer {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(found.GroupVersionKind())
	object.SetNamespace(found.GetNamespace())
	object.SetName(found.GetName())
	result := answer{Object: nameOf(object), Change: string(found.Type)}
	for _, operation := range found.Patch {
		result.Differences = append(result.Differences, operation.Type+" "+operation.Path)
	}
	if found.Type == jsondiff.DiffTypeCreate {
		result.Differences = []string{"create"}
	}
	return result
}
