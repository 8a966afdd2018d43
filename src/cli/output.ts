/** The option `-o`: reads the format, and renders data as JSON or YAML. */
import { stringify } from 'yaml'
import { escapeControls } from '../base/printable.ts'
import { suggest } from '../base/suggest.ts'
import { type Arguments, UsageError } from './command.ts'

/** The formats of commands that show objects. `wide` is text with more columns or details. */
export const OUTPUT_FORMATS = ['text', 'wide', 'json', 'yaml'] as const

export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

export const OUTPUT_OPTION = outputOption(OUTPUT_FORMATS, 'text (default), wide (text with more details), json or yaml')

/** The formats of commands whose text has one form. */
export const PLAIN_FORMATS = ['text', 'json', 'yaml'] as const

export const PLAIN_OUTPUT_OPTION = outputOption(PLAIN_FORMATS, 'text (default), json or yaml')

/** Returns the option `-o` of a command with these formats. */
export function outputOption(values: readonly string[], description: string) {
  return { output: { type: 'string', short: 'o', value: 'FORMAT', description, values } } as const
}

/** The API version of the JSON and YAML that a command prints for an answer of its own, next to a `kind`. */
export const OUTPUT_API_VERSION = 'cli.lodestone.dev/v1alpha1'

/**
 * Reads the option `-o` of a command with these formats. The first format is the default.
 *
 * Throws `UsageError` with a suggestion for an unknown format.
 */
export function readFormat<const Format extends string>(
  args: Arguments,
  formats: readonly [Format, ...Format[]],
): Format {
  const given = args.text('output') ?? formats[0]
  const format = formats.find((known) => known === given)
  if (!format) throw new UsageError(`-o takes one of ${formats.join(', ')}, not ${given}${suggest(given, formats)}`)
  return format
}

/** Renders data for programs, with a newline at the end. */
export function renderData(data: unknown, format: 'json' | 'yaml'): string {
  return format === 'json' ? escapeControls(`${JSON.stringify(data, null, 2)}\n`) : renderYaml(data)
}

/** Renders a value as YAML: one line per text, and no anchors. Texts such as `on` are quoted for parsers of YAML 1.1. */
export function renderYaml(value: unknown): string {
  return escapeControls(stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' }))
}
