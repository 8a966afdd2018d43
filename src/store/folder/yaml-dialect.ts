/** The YAML that kubectl reads: YAML 1.2 here, with the 1.1 spellings that Kubernetes' own parser still takes. */
import type { DocumentOptions, ParseOptions, ScalarTag, SchemaOptions } from 'yaml'

/** `0644` is octal to kubectl (YAML 1.1) and decimal in YAML 1.2; file modes are written so. */
const octal: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?0[0-7]+$/,
  resolve: (text) => Number.parseInt(text, 8),
}

/** go-yaml takes these for booleans, so an annotation of `yes` without quotes is refused by an API server, and here. */
const words: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  test: /^(?:y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)$/,
  resolve: (text) => /^(?:y|on)/i.test(text),
}

/** Options of every parse: merge keys as in kubectl, duplicate keys refused as by `--validate=strict`. */
export const KUBERNETES_YAML: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.2',
  merge: true,
  uniqueKeys: true,
  customTags: (tags) => [octal, words, ...tags],
  prettyErrors: false,
  logLevel: 'silent',
}
