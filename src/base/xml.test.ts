import { expect, test } from 'vitest'
import { elementsOf, elementText } from './xml.ts'

test.each([
  { name: 'the text of an element', xml: '<A><Key>a/b</Key></A>', want: 'a/b' },
  { name: 'the first of several', xml: '<Key>a</Key><Key>b</Key>', want: 'a' },
  { name: 'an empty text', xml: '<Key></Key>', want: '' },
  { name: 'nothing without the element', xml: '<A/>', want: undefined },
  { name: 'nothing of an element without an end tag', xml: '<Key>a', want: undefined },
  { name: 'nothing of an element without a start tag', xml: 'a beginning</Key>', want: undefined },
  { name: 'named entities', xml: '<Key>&lt;a&gt; &amp; &quot;b&apos;</Key>', want: '<a> & "b\'' },
  { name: 'numbered entities', xml: '<Key>&#65;&#x754c;&#x1F600;</Key>', want: 'A界😀' },
  { name: 'an unknown entity as it is', xml: '<Key>&nbsp;&toString;</Key>', want: '&nbsp;&toString;' },
  { name: 'half a surrogate pair as it is', xml: '<Key>&#xD800;&#xDFFF;</Key>', want: '&#xD800;&#xDFFF;' },
  { name: 'the last character of Unicode', xml: '<Key>&#x10FFFF;</Key>', want: '\u{10FFFF}' },
  { name: 'a number above the range of Unicode as it is', xml: '<Key>&#x110000;</Key>', want: '&#x110000;' },
  { name: 'an escaped ampersand once', xml: '<Key>&amp;lt;</Key>', want: '&lt;' },
])('gives $name', ({ xml, want }) => {
  expect(elementText(xml, 'Key')).toBe(want)
})

test.each([
  { name: 'each element, as it is', xml: '<P><A>1</A> <A>&amp;<B>2</B></A></P>', want: ['1', '&amp;<B>2</B>'] },
  { name: 'none', xml: '<P><AA>1</AA></P>', want: [] },
  { name: 'those before one without an end tag', xml: '<A>1</A><A>2', want: ['1'] },
])('yields $name', ({ xml, want }) => {
  expect([...elementsOf(xml, 'A')]).toEqual(want)
})
