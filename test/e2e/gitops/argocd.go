package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	"github.com/itchyny/gojq"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The field manager of server-side apply (common/common.go of Argo CD).
const argoCDManager = "argocd-controller"

type ignoreDifference struct {
	Group             string   `json:"group"`
	Kind              string   `json:"kind"`
	Name              string   `json:"name"`
	JQPathExpressions []string `json:"jqPathExpressions"`
}

type argoCD struct {
	config *rest.Config
	api    client.Client
	asked  request
	kube   *kube.KubectlCmd
	// Removes what the Application ignores.
	normalizer diff.Normalizer
}

func newArgoCD(config *rest.Config, api client.Client, asked request) (tool, error) {
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	ignored, err := newIgnored(asked.IgnoreDifferences)
	if err != nil {
		return nil, err
	}
	return argoCD{config: config, api: api, asked: asked, kube: kubectl, normalizer: ignored}, nil
}

func (a argoCD) sync(ctx context.Context, objects []*unstructured.Unstructured) ([]answer, error) {
	operations, cleanup, err := a.kube.ManageResources(a.config)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	answers := []answer{}
	for _, object := range objects {
		track(object)
		target, err := a.target(ctx, object)
		if err != nil {
			return nil, err
		}
		serverSide := a.asked.Tool != "argocd"
		if _, err := operations.ApplyResource(ctx, target, cmdutil.DryRunNone, false, true, serverSide, argoCDManager); err != nil {
			return nil, fmt.Errorf("%s: %w", nameOf(object), err)
		}
		answers = append(answers, answer{Object: nameOf(object)})
	}
	return answers, nil
}

// With the sync option RespectIgnoreDifferences, ignored fields are those of the live object (controller/sync.go of Argo CD).
func (a argoCD) target(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	found, err := live(ctx, a.api, object)
	if err != nil || found == nil || !a.asked.RespectIgnoreDifferences {
		return object, err
	}
	target, normalized := object.DeepCopy(), found.DeepCopy()
	for _, one := range []*unstructured.Unstructured{target, normalized} {
		if err := a.normalizer.Normalize(one); err != nil {
			return nil, err
		}
	}
	// The status is no part of a manifest.
	unstructured.RemoveNestedField(found.Object, "status")
	texts := [3][]byte{}
	for i, one := range []*unstructured.Unstructured{normalized, found, target} {
		if texts[i], err = json.Marshal(one.Object); err != nil {
			return nil, err
		}
	}
	patch, err := jsonpatch.CreateMergePatch(texts[0], texts[1])
	if err != nil {
		return nil, err
	}
	merged, err := jsonpatch.MergePatch(texts[2], patch)
	if err != nil {
		return nil, err
	}
	kept := target.DeepCopy()
	if err := target.UnmarshalJSON(merged); err != nil {
		return nil, err
	}
	restore(target.Object, object.Object, kept.Object, normalized.Object)
	return target, nil
}

// Gives the fields that are not ignored their value in the manifest again: a patch replaces lists as a whole. `kept` is the manifest, and
// `liveKept` the live object, without ignored fields.
func restore(target, manifest, kept, liveKept map[string]any) {
	for key, value := range manifest {
		left, ok := kept[key]
		wanted, isMap := value.(map[string]any)
		inTarget, isMapInTarget := target[key].(map[string]any)
		inKept, isMapKept := left.(map[string]any)
		if isMap && isMapInTarget && isMapKept {
			inLive, _ := liveKept[key].(map[string]any)
			restore(inTarget, wanted, inKept, inLive)
		} else if ok && reflect.DeepEqual(left, value) {
			target[key] = value
		}
	}
	for key := range target {
		_, isInManifest := manifest[key]
		_, isInLive := liveKept[key]
		if !isInManifest && isInLive {
			delete(target, key)
		}
	}
}

func (a argoCD) diff(ctx context.Context, objects []*unstructured.Unstructured) ([]answer, error) {
	options, cleanup, err := a.options()
	if err != nil {
		return nil, err
	}
	defer cleanup()
	answers := []answer{}
	for _, object := range objects {
		track(object)
		found, err := live(ctx, a.api, object)
		if err != nil {
			return nil, err
		}
		result, err := diff.Diff(object, found, options...)
		if err != nil {
			answers = append(answers, answer{Object: nameOf(object), Error: err.Error()})
			continue
		}
		changes, err := changesIn(result)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer{Object: nameOf(object), Differences: changes})
	}
	return answers, nil
}

func (a argoCD) options() ([]diff.Option, func(), error) {
	options := []diff.Option{diff.WithNormalizer(a.normalizer), diff.WithLogr(logr.Discard()), diff.WithManager(argoCDManager)}
	if a.asked.Tool == "argocd" {
		return options, func() {}, nil
	}
	_, parser, err := a.kube.LoadOpenAPISchema(a.config)
	if err != nil {
		return nil, nil, err
	}
	options = append(options, diff.WithGVKParser(parser))
	if a.asked.Tool == "argocd-structured-merge" {
		return append(options, diff.WithStructuredMergeDiff(true)), func() {}, nil
	}
	applier, cleanup, err := a.kube.ManageServerSideDiffDryRuns(a.config)
	if err != nil {
		return nil, nil, err
	}
	runner := diff.NewK8sServerSideDryRunner(applier)
	return append(options, diff.WithServerSideDiff(true), diff.WithServerSideDryRunner(runner)), cleanup, nil
}

func changesIn(result *diff.DiffResult) ([]string, error) {
	if !result.Modified {
		return nil, nil
	}
	var before, after any
	if err := json.Unmarshal(result.NormalizedLive, &before); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(result.PredictedLive, &after); err != nil {
		return nil, err
	}
	return differences(before, after)
}

// Argo CD finds the objects of an Application by this annotation.
func track(object *unstructured.Unstructured) {
	kind := object.GroupVersionKind()
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["argocd.argoproj.io/tracking-id"] = fmt.Sprintf(
		"example:%s/%s:%s/%s", kind.Group, kind.Kind, object.GetNamespace(), object.GetName())
	object.SetAnnotations(annotations)
}

// The normalizer of `ignoreDifferences`: Argo CD deletes each path with jq (util/argo/normalizers). That package needs all of Argo CD.
type ignored struct {
	rules []ignoreDifference
	codes map[string]*gojq.Code
}

func newIgnored(rules []ignoreDifference) (diff.Normalizer, error) {
	// Argo CD ignores the status by default (resource.compareoptions).
	all := append([]ignoreDifference{{JQPathExpressions: []string{".status"}}}, rules...)
	codes := map[string]*gojq.Code{}
	for _, rule := range all {
		for _, path := range rule.JQPathExpressions {
			query, err := gojq.Parse("del(" + path + ")")
			if err != nil {
				return nil, err
			}
			if codes[path], err = gojq.Compile(query); err != nil {
				return nil, err
			}
		}
	}
	return ignored{rules: all, codes: codes}, nil
}

func (i ignored) Normalize(object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	for index, rule := range i.rules {
		isOfAll := index == 0
		if !isOfAll && (rule.Group != kind.Group || rule.Kind != kind.Kind || (rule.Name != "" && rule.Name != object.GetName())) {
			continue
		}
		for _, path := range rule.JQPathExpressions {
			if err := deletePath(object, i.codes[path]); err != nil {
				return err
			}
		}
	}
	return nil
}

func deletePath(object *unstructured.Unstructured, code *gojq.Code) error {
	text, err := json.Marshal(object.Object)
	if err != nil {
		return err
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		return err
	}
	result, ok := code.Run(plain).Next()
	if !ok {
		return fmt.Errorf("%s: the path expression has no result", nameOf(object))
	}
	// As Argo CD, which ignores a path that does not fit the object.
	if _, isError := result.(error); isError {
		return nil
	}
	if text, err = json.Marshal(result); err != nil {
		return err
	}
	return object.UnmarshalJSON(text)
}
