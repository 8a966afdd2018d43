/**
 * Reference pages that come from the sources: the commands, and the keys that Lodestone uses on objects. `npx vitest run --project unit
 * test/reference-pages.test.ts --update` writes them. `npm run manifests` writes the other ones.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Command } from '../src/cli/command.ts'
import { loadCommands } from '../src/cli/index.ts'
import { listItem } from '../src/cli/pages/markdown.ts'

const pageAt = (name: string) => join(import.meta.dirname, '..', 'docs', 'reference', name)
const NOTE = '<!-- Generated from the sources by test/reference-pages.test.ts. Do not edit: that test compares it. -->'

test('docs/reference/cli.md has each command with its options', async () => {
  await expect(cliPage(await loadCommands())).toMatchFileSnapshot(pageAt('cli.md'))
})

test('docs/reference/keys.md has each annotation, label and finalizer of Lodestone', async () => {
  await expect(keysPage()).toMatchFileSnapshot(pageAt('keys.md'))
})

function cliPage(commands: readonly Command[]): string {
  return `# Commands

${NOTE}

This page lists the commands of \`lodestone\`, which are also those of \`kubectl lodestone\` ([install](../guides/install.md)). In a clone of the
repository, write \`npm run -s lodestone -- COMMAND\`. Each command has \`--help\`.

The exit status is 0 for success, 1 for a rejection or a failure, 2 for invalid arguments or configuration, and 130 after Ctrl-C.

${commands.map(({ name, summary }) => listItem(`[\`${name}\`](#${name}): ${summary}`)).join('\n')}

${commands.map(commandSection).join('\n\n')}
`
}

function commandSection({ name, summary, usage, options, examples }: Command): string {
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

function keysPage(): string {
  const source = readFileSync(join(import.meta.dirname, '..', 'src', 'api', 'lodestone.ts'), 'utf8')
  const keys = [...source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport const (\w+) = '([^']+)'/g)].map(
    ([, comment = '', constant = '', key = '']) => ({ constant, key, meaning: meaningOf(comment) }),
  )
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
