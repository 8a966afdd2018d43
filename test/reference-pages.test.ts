/**
 * Reference pages that come from the sources: the commands, the keys that Lodestone uses on objects, and those of its configuration. `npx
 * vitest run --project unit test/reference-pages.test.ts --update` writes them. `npm run manifests` writes the other ones.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DATA_CHECK_CONTROLLER } from '../src/api/kueue.ts'
import { configSection } from '../src/app/config/config.ts'
import type { Field as ConfigField } from '../src/app/config/section.ts'
import type { NamedCommand } from '../src/cli/command.ts'
import { loadCommands } from '../src/cli/index.ts'
import { fieldLine, fieldLines, type Field as SchemaField } from '../src/cli/pages/api-page.ts'
import { listItem } from '../src/cli/pages/markdown.ts'

const pageAt = (name: string) => join(import.meta.dirname, '..', 'docs', 'reference', name)
const NOTE = '<!-- Generated from the sources by test/reference-pages.test.ts. Do not edit: that test compares it. -->'

/** The keys of sections of the configuration, between two comments that name them. */
const KEYS = /(<!-- keys of ([\w, ]+) from the sources -->\n)[\s\S]*?(<!-- end of keys -->)/g

test('docs/reference/cli.md has each command with its options', async () => {
  await expect(cliPage(await loadCommands())).toMatchFileSnapshot(pageAt('cli.md'))
})

test('docs/reference/keys.md has each annotation, label and finalizer of Lodestone', async () => {
  await expect(keysPage()).toMatchFileSnapshot(pageAt('keys.md'))
})

test('docs/reference/keys.md leaves no key of the sources out', () => {
  const page = readFileSync(pageAt('keys.md'), 'utf8')
  const keys = sources().flatMap((source) => [
    ...source.matchAll(/^export const \w+ = '((?:\w+\.)?lodestone\.dev\/[a-z-]*)'/gm),
  ])
  const absent = keys
    .map(([, key = '']) => key)
    .filter((key) => key !== DATA_CHECK_CONTROLLER && !page.includes(`\`${key}\``))
  expect(absent).toEqual([])
})

test('docs/reference/configuration.md has the type, default and meaning of each key', async () => {
  const page = readFileSync(pageAt('configuration.md'), 'utf8')
  const sections = [...page.matchAll(KEYS)].flatMap(([, , names = '']) => names.split(', '))
  expect(sections.sort()).toEqual(Object.keys(configSection.fields ?? {}).sort())
  await expect(withKeys(page)).toMatchFileSnapshot(pageAt('configuration.md'))
})

/** Returns the page with the keys of the configuration. If there is one section between two comments, its name is left out. */
function withKeys(page: string): string {
  return page.replace(KEYS, (_, begin: string, names: string, end: string) => {
    const sections = names.split(', ')
    const lines = sections.flatMap((name) => keyLines(name, configSection.fields?.[name]))
    const items = lines.map((line) => listItem(sections.length > 1 ? line : line.replace(`\`${names}.`, '`')))
    return `${begin}${items.join('\n')}\n${end}`
  })
}

function keyLines(path: string, field: ConfigField<unknown> | undefined): string[] {
  const { schema = {}, default: value, meaning = '', fields } = field ?? {}
  if (fields) return Object.entries(fields).flatMap(([name, inner]) => keyLines(`${path}.${name}`, inner))
  const { items, ...own }: SchemaField = schema
  // The section of this list has the keys of its entries.
  if (path === 'workloadKinds' && items) return fieldLines('', items)
  return [fieldLine(path, { ...own, ...(items && { items }), default: value, description: meaning })]
}

function cliPage(commands: readonly NamedCommand[]): string {
  return `# Commands

${NOTE}

This page lists the commands of \`lodestone\`, which are also those of \`kubectl lodestone\` ([install](../guides/install.md)). In a clone of the
repository, write \`npm run -s lodestone -- COMMAND\`. Each command has \`--help\`.

The exit status is 0 for success, 1 for a rejection or a failure, 2 for invalid arguments or configuration, and 130 after Ctrl-C.

${commands.map(({ name, summary }) => listItem(`[\`${name}\`](#${name}): ${summary}`)).join('\n')}

${commands.map(commandSection).join('\n\n')}
`
}

function commandSection({ name, summary, usage, options, examples }: NamedCommand): string {
  const items = Object.entries(options).map(([option, { short, value, description }]) => {
    const words = `${short ? `-${short}, ` : ''}--${option}${value ? ` ${value}` : ''}`
    return listItem(`\`${words}\`: ${description}`)
  })
  const lines = examples.flatMap(({ command, does }) => [`# ${does}`, command])
  return [
    `## ${name}`,
    `${summary}.`,
    `\`\`\`text\nlodestone ${name} ${usage}\n\`\`\``,
    ...(items.length > 0 ? [items.join('\n')] : []),
    ...(lines.length > 0 ? [`\`\`\`text\n${lines.join('\n')}\n\`\`\``] : []),
  ].join('\n\n')
}

/** The sections of the page of keys: the end of the names of their constants. */
const SECTIONS = {
  Annotations: /ANNOTATION$/,
  Labels: /LABEL$/,
  Finalizers: /FINALIZER$/,
  'Beginnings of annotations and labels': /PREFIX$/,
  'Scheduling gates': /GATE$/,
}

/** The texts of the sources, without tests. Those of most keys are in the first. */
function sources(): string[] {
  const root = join(import.meta.dirname, '..', 'src')
  const files = globSync('**/*.ts', { cwd: root }).filter((file) => !/\.(test|suite|fake)\.ts$/.test(file))
  return [KEYS_FILE, ...files.filter((file) => file !== KEYS_FILE).sort()].map((file) =>
    readFileSync(join(root, file), 'utf8'),
  )
}

const KEYS_FILE = join('api', 'lodestone.ts')

function keysPage(): string {
  const source = sources().join('\n')
  const keys = [
    ...source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport const (\w+) = '((?:\w+\.)?lodestone\.dev\/[^']*)'/g),
  ].map(([, comment = '', constant = '', key = '']) => ({ constant, key, meaning: meaningOf(comment) }))
  const sections = Object.entries(SECTIONS).map(([title, ending]) => {
    const items = keys.filter(({ constant }) => ending.test(constant))
    return `## ${title}\n\n${items.map(({ key, meaning }) => listItem(`\`${key}\`: ${meaning}`)).join('\n')}`
  })
  return `# Annotations, labels and finalizers

${NOTE}

This page lists the keys of Lodestone on objects: which objects have each, the writer, and its meaning. [Values in your
objects](removal.md) tells when they are removed, [configuration](configuration.md) explains those that users write.

${sections.join('\n\n')}
`
}

/** A comment in one line, without the names of source files. */
function meaningOf(comment: string): string {
  const text = comment.replaceAll(/\s*\n\s*\* ?/g, ' ').replaceAll(/\s*\((?:[\w-]+\/)+[\w.-]+\)/g, '')
  return text.trim().replace(/^./, (first) => first.toLowerCase())
}
