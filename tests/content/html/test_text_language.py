"""The language of a text: scripts decide first, then letters that only some languages have, then
the detector.
"""

# ruff: noqa: RUF001 - it is about letters that look alike

import sys

import pytest

from webcrawl.content.html.text_language import (
    BY_SCRIPT,
    LANGUAGES,
    RANGES,
    contradicts,
    likely_language,
    writing_of,
)

# the first article of the Universal Declaration of Human Rights
ARTICLE = {
    "ja": "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "zh": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "ar": "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق. "
    "وقد وهبوا عقلاً وضميراً وعليهم أن يعامل بعضهم بعضاً بروح الإخاء.",
    "fa": "تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند. همه دارای عقل و وجدان هستند.",
    "ur": "تمام انسان آزاد اور حقوق و عزت کے اعتبار سے برابر پیدا ہوئے ہیں۔ انہیں ضمیر اور عقل ودیعت ہوئی ہے۔",
    "ru": "Все люди рождаются свободными и равными в своём достоинстве и правах. Они наделены разумом и совестью.",
    "uk": "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю.",
    "be": "Усе людзі нараджаюцца свабоднымі і роўнымі ў сваёй годнасці і правах. Яны надзелены розумам і сумленнем.",
    "bg": "Всички хора се раждат свободни и равни по достойнство и права. Те са надарени с разум и съвест и следва да "
    "се отнасят помежду си в дух на братство. Българският език е един от тях, и търсачката го открива бързо.",
    "sr": "Сва људска бића рађају се слободна и једнака у достојанству и правима. Она су обдарена разумом и свешћу.",
    "mk": "Сите човечки суштества се раѓаат слободни и еднакви по достоинство и права. Тие се обдарени со разум и "
    "совест и треба да се однесуваат еден кон друг во духот на општо човечката припадност. Ќе дојдат и ѕвезди.",
    "kk": "Барлық адамдар тумысынан азат және қадір-қасиеті мен құқықтары тең болып дүниеге келеді.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "he": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון.",
    "hi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
    "th": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
    "ta": "மனிதப் பிறவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்",
    "ka": "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.",
    "hy": "Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։",
}
LATIN = (
    "All human beings are born free and equal in dignity and rights. They are endowed with reason. "
)
NAMES = "ProxyPass ProxyPassReverse LoadModule mod_proxy.so ServerName www.example.com DocumentRoot /usr/local/apache2 "


@pytest.mark.parametrize("language", ARTICLE)
def test_the_script_decides(language):
    """A text in a script of its own is in a language of that script, and letters say in which."""
    assert likely_language(ARTICLE[language]) == (language, BY_SCRIPT)


@pytest.mark.parametrize("language", ["ja", "zh", "ko", "ru", "ar"])
def test_names_and_code_do_not_change_it(language):
    """A manual with many Latin names is in the language of its sentences.

    Of 430 such pages 122 were called Czech, Luxembourgish or Icelandic, by the few words that the
    detector knew, and Russian ones Serbian.
    """
    assert likely_language(ARTICLE[language] + NAMES)[0] == language


def test_without_the_library_the_script_decides_as_well(monkeypatch):
    """The detector is not asked for a text that is in another script than Latin."""
    monkeypatch.setitem(sys.modules, "resiliparse.parse.lang", None)
    assert likely_language(ARTICLE["ko"])[0] == "ko"


@pytest.mark.parametrize(
    "text", [LATIN, f"{LATIN * 5} ({ARTICLE['ja'][:10]})", f"{LATIN * 9}{ARTICLE['ru']}"]
)
def test_a_quotation_does_not_decide(text):
    """A Latin text that quotes another script is the detector's."""
    pytest.importorskip("resiliparse")
    language, measure = likely_language(text)
    assert language == "en"
    assert measure > BY_SCRIPT


@pytest.mark.parametrize("text", ["", "123 – 456 “…”", "\ud800\udfff" * 200, "→" * 300])
def test_no_letters(text):
    """What has no letters is written in no script."""
    assert writing_of(text) is None


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        *[(language, language) for language in ARTICLE],
        *[
            ("ru-RU", "ru"),
            ("zh-Hant-TW", "zh"),
            ("iw", "he"),
            ("yue", "zh"),
            ("os", "ru"),
            ("ks", "ar"),
            ("ti", "hy"),
        ],
    ],
)
def test_a_declaration_that_the_script_supports(declared, written):
    """A declared language stands if the text may be in it, by script and letters; so does one that
    is not known.
    """
    pytest.importorskip("resiliparse")
    text = ARTICLE[written] * 5
    assert contradicts(declared, text) is (declared == "ti")  # Armenian is no Ethiopic


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("en", "ja"),
        ("ja", "zh"),
        ("zh", "ja"),
        ("ko", "zh"),
        ("sr", "ru"),
        ("ru", "uk"),
        ("ar", "fa"),
        ("el", "ru"),
    ],
)
def test_a_declaration_that_it_does_not(declared, written):
    """A declared language of another script, or without the letters that the text has, is
    contradicted.
    """
    pytest.importorskip("resiliparse")
    assert contradicts(declared, ARTICLE[written] * 5)


@pytest.mark.parametrize("language", ["ja", "ru", "ar"])
def test_a_declaration_counts_where_most_is_latin(language):
    """A page of code with comments is in the declared language of its comments."""
    pytest.importorskip("resiliparse")
    text = ARTICLE[language] + NAMES * 4
    assert not contradicts(language, text)


def test_each_script_has_languages():
    """The tables name the same scripts, and blocks of code points are whole."""
    assert LANGUAGES.keys() == RANGES.keys() - {"Latin"}
    assert all(edge % 16 == 0 for ranges in RANGES.values() for pair in ranges for edge in pair)
