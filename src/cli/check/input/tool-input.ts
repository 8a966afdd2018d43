/** Recognizes files that are the input of Helm or kustomize, so that the message about them has the remedy. */
import { basename } from 'node:path'
import type { ManifestError } from '../../../store/folder/manifests.ts'

const TOOLS: readonly { file: RegExp; text?: RegExp; message: string }[] = [
  {
    file: /^kustomization\.ya?ml$/,
    message: 'is the input of kustomize and no manifest; check the output of kustomize build',
  },
  {
    file: /^(Chart|values)\.ya?ml$/,
    message: 'is part of a Helm chart and no manifest; check the output of helm template',
  },
  {
    file: /./,
    text: /\{\{-?\s*([.$/]|(if|else|end|range|with|define|include|template|block|toYaml|tpl|printf|quote|default)\b)/,
    message: 'is a Helm template and no manifest; check the output of helm template',
  },
]

/** Returns one error for the file of a tool, at the place of its first error; undefined for another file. */
export function inputOfTool(file: string, text: string, [first]: readonly ManifestError[]): ManifestError | undefined {
  const tool = TOOLS.find((each) => each.file.test(basename(file)) && (each.text?.test(text) ?? true))
  return first && tool && { ...first, message: tool.message }
}
