"""Texts of a synthetic web: sentences of the embedded manuals, and pages in other languages."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from html import escape
from typing import NamedTuple

from honeyguide.errors import ParseError
from honeyguide.lab import web
from honeyguide.lab.synthetic.seeded_random import SeededRandom
from honeyguide.lab.web import RecordedResponse
from honeyguide.parse.read import parse_body
from honeyguide.types import Link, Page, Url
from honeyguide.url import host_of

FOREIGN_WORDS = {
    "tr": """
        bir ve bu için ile çok daha gibi ama en kadar sonra olarak her şey zaman gün yıl insan iş
        yer el göz baş ev çocuk kadın adam dünya hayat yol su kitap okul öğrenci öğretmen şehir
        ülke köy deniz dağ orman ağaç çiçek kuş balık güneş ay gece sabah akşam hava yağmur kar
        rüzgâr ekmek süt çay kahve yemek masa kapı pencere duvar sokak araba tren gemi uçak yeni
        eski büyük küçük güzel iyi kötü uzun kısa sıcak soğuk açık kapalı gelmek gitmek görmek
        bilmek istemek vermek almak yapmak olmak konuşmak yazmak okumak""",
    "az": """
        və bir bu ilə üçün çox daha kimi amma ən qədər sonra olaraq hər şey zaman gün il insan iş
        yer əl göz baş ev uşaq qadın kişi dünya həyat yol su kitab məktəb şagird müəllim şəhər
        ölkə kənd dəniz dağ meşə ağac gül quş balıq günəş ay gecə səhər axşam hava yağış qar
        külək çörək süd çay qəhvə yemək masa qapı pəncərə divar küçə maşın qatar gəmi təyyarə yeni
        köhnə böyük kiçik gözəl yaxşı pis uzun qısa isti soyuq açıq bağlı gəlmək getmək görmək
        bilmək istəmək vermək almaq etmək olmaq danışmaq yazmaq oxumaq""",
    "ru": """
        и в не на что он с как это по но они мы весь она так его за быть мочь сказать время год
        человек дело жизнь день рука работа слово место лицо друг глаз вопрос дом сторона страна
        мир случай голова ребёнок сила конец вид система часть город отношение женщина деньги
        земля машина вода отец проблема час право нога решение дверь образ история власть закон
        война бог голос тысяча книга возможность результат ночь стол имя область статья новый
        большой хороший старый первый последний другой белый красный писать читать думать""",
    "el": """
        και το να η ο της του με για από που στο είναι δεν θα ένα μια αυτό στην έχει πως όταν άλλα
        χρόνος άνθρωπος ζωή μέρα νύχτα σπίτι παιδί γυναίκα άντρας κόσμος δρόμος πόλη χώρα χωριό
        θάλασσα βουνό δέντρο λουλούδι πουλί ψάρι ήλιος φεγγάρι πρωί βράδυ καιρός βροχή χιόνι
        αέρας ψωμί γάλα νερό καφές φαγητό τραπέζι πόρτα παράθυρο τοίχος βιβλίο σχολείο μαθητής
        δάσκαλος δουλειά χέρι μάτι κεφάλι φωνή λόγος νέος παλιός μεγάλος μικρός όμορφος καλός
        κακός μακρύς ζεστός κρύος ανοιχτός έρχομαι πηγαίνω βλέπω ξέρω θέλω δίνω παίρνω γράφω""",
    "ar": """
        في من على إلى أن هذا التي الذي كان مع عن هو هي ما لا كل بعد قبل بين عند يوم سنة وقت رجل
        امرأة ولد بنت بيت مدينة قرية بلد طريق شارع بحر جبل شجرة زهرة طير سمك شمس قمر ليل صباح
        مساء هواء مطر ثلج ريح خبز حليب شاي قهوة طعام ماء باب نافذة جدار كتاب مدرسة طالب معلم عمل
        يد عين رأس صوت كلمة حياة عالم ناس حكومة قانون تاريخ علم سؤال جواب جديد قديم كبير صغير
        جميل طويل قصير حار بارد مفتوح كتب قرأ ذهب جاء رأى عرف أراد أخذ أعطى قال سمع فتح""",
    "zh": """
        的 一 是 不 了 人 我 在 有 他 这 中 大 来 上 国 个 到 说 们 为 子 和 你 地 出 道 也 时 年
        得 就 那 要 下 以 生 会 自 着 去 之 过 家 学 对 可 她 里 后 小 么 心 多 天 而 能 好 都 然
        没 日 于 起 还 发 成 事 只 作 当 想 看 文 无 开 手 十 用 主 行 方 又 如 前 所 本 见 经 头
        面 公 同 三 已 老 从 动 两 长 城市 学校 时间 历史 世界 问题 工作 生活 老师 学生
        天气 朋友""",
}


# --------------------------------------------------------------------------------------------------
# Forums and blogs of a made web: their software says more than their people at first sight.
#
# Every other host runs a board, whose threads quote the posts before; the others run a blog, whose
# readers quote it in comments. Front pages say what the software says, whatever the topic.
# --------------------------------------------------------------------------------------------------


UnitDraw = Callable[[], float]

_USER_NAMES = (
    "anna", "bert71", "cloudy", "daisy", "emre", "foxtrot", "gus", "hopeful", "ines", "jd",
    "kestrel", "lou", "moonlit", "newbie", "otter", "pat", "quill", "rainer", "sunny", "tess",
)  # fmt: skip
_BOARD_TEXTS = (
    "It is currently not possible to post without signing in. All times are UTC.",
    "Please read the rules before you post your first message, and use the search function.",
    "In total there are {} users online: {} registered, none hidden and {} guests, based on users "
    "active over the past five minutes.",
    "You cannot post new topics in this forum. You cannot reply to topics in this forum. You "
    "cannot edit your posts in this forum. Delete cookies. Contact us. The team. Members.",
)
_BLOG_TEXTS = (
    "Welcome to my blog! Scroll down for the latest posts, or browse the archive by month.",
    "Subscribe by e-mail and never miss a post. We use cookies to give you the best experience.",
    "Leave a reply. Your e-mail address will not be published. Required fields are marked. {} "
    "comments on {} posts by {} readers.",
    "Older posts. Categories. Tags. Archives. Meta. Log in. Entries feed. Comments feed. Theme "
    "by the makers of this software.",
)
_QUOTABLE_SENTENCE = re.compile(r"[^.!?<>]{20,}[.!?]")
_MAX_QUOTED = 2
"""Sentences of a quotation, at most."""


def front_title(design: int) -> str:
    return "Board index" if _is_board(design) else "Home page and latest posts"


def front_page_html(title: str, threads: Sequence[str], design: int, chance: UnitDraw) -> str:
    """A front page's inside; ``threads`` are links."""
    words, place = (_BOARD_TEXTS, "Topics") if _is_board(design) else (_BLOG_TEXTS, "Recent posts")
    said = [f"<p>{text.format(*(int(chance() * 90) + 2 for _ in range(3)))}</p>" for text in words]
    rows = [
        f"<li>{thread} by {_random_user(chance)}, {int(chance() * 40)} replies</li>"
        for thread in threads
    ]
    middle = f'<h2>{place}</h2><ul class="topics">{"".join(rows)}</ul>'
    return "\n".join([f"<h1>{title}</h1>", *said[:2], middle, *said[2:]])


def thread_posts(paragraphs: Sequence[str], design: int, chance: UnitDraw) -> Iterator[str]:
    """Paragraphs as posts of a thread, or as an article with comments; later ones quote."""
    board = _is_board(design)
    for place, paragraph in enumerate(paragraphs):
        who, before = _random_user(chance), ""
        if place and chance() < 0.6:
            quoted = _QUOTABLE_SENTENCE.findall(paragraphs[int(chance() * place)])[:_MAX_QUOTED]
            if quoted:
                words = " ".join(sentence.strip() for sentence in quoted)
                before = (
                    f"<blockquote><cite>{_random_user(chance)} wrote:</cite> {words}</blockquote>"
                )
        if board:
            joined = f"Posts: {int(chance() * 5000)}. Joined: {2001 + int(chance() * 20)}."
            yield (
                f'<div class="post"><p class="author">{who}. {joined} Reply with quote.</p>'
                f"{before}<p>{paragraph}</p></div>"
            )
        elif place:
            yield f'<div class="comment"><p>{who} says:</p>{before}<p>{paragraph}</p></div>'
        else:
            yield f'<p class="meta">Posted by {who}. Leave a comment.</p><p>{paragraph}</p>'


def _is_board(design: int) -> bool:
    return bool(design >> 8 & 1)


def _random_user(chance: UnitDraw) -> str:
    return _USER_NAMES[int(chance() * len(_USER_NAMES))]


# --------------------------------------------------------------------------------------------------
# What made pages say: real sentences and titles of the embedded manuals, a book per topic.
# --------------------------------------------------------------------------------------------------


MANUAL_HOSTS = {
    "apache": "httpd.apache.org",
    "auth-ldap": "django-auth-ldap.readthedocs.io",
    "borg": "borgbackup.readthedocs.io",
    "django": "docs.djangoproject.com",
    "haystack": "django-haystack.readthedocs.io",
    "pgbackrest": "pgbackrest.org",
    "postgresql": "www.postgresql.org",
    "python": "docs.python.org",
    "python-ldap": "www.python-ldap.org",
    "restic": "restic.readthedocs.io",
    "sqlite": "www.sqlite.org",
    "whoosh": "whoosh.readthedocs.io",
}
"""Topic → the demo web's host with its text."""

FOREIGN_LANGUAGES = ("tr", "ru", "el", "ar", "zh")
"""Of pages without a topic, unless the plan names others."""

_PAGES_PER_MANUAL = 60
"""Read of each manual: enough to write millions of pages, and soon read."""
_MAX_SENTENCES = 2500
_MIN_TITLES = 50
"""Fewer would make too many pages alike."""
_FULL_SENTENCE = re.compile(r"(?:^|(?<=[.!?] ))[A-Z][^.!?\n]{25,240}[.!?](?=\s|$)", re.MULTILINE)
_TITLE_EDGES = re.compile(r"^[\d.\s]+|\s*[¶#]+\s*$|\s+[—-]\s.*$|\(\d+\)$")


class TopicText(NamedTuple):
    """The text of one topic, or of one language that is no topic. Ready for HTML."""

    language: str
    titles: tuple[str, ...]
    sentences: tuple[str, ...]


@lru_cache(maxsize=1)
def load_texts() -> dict[str, TopicText]:
    """Topic or language → its book. Reading the manuals takes a second, once a process."""
    pages: defaultdict[str, list[RecordedResponse]] = defaultdict(list)
    for record in web.load_demo_web():
        pages[host_of(record.url)].append(record)
    made = {topic: _manual_text(pages[name]) for topic, name in MANUAL_HOSTS.items()}
    return made | {language: _foreign_text(language) for language in FOREIGN_WORDS}


def _manual_text(records: list[RecordedResponse]) -> TopicText:
    records.sort(key=lambda record: record.url)
    chosen = records[:: max(1, len(records) // _PAGES_PER_MANUAL)]
    pages = [page for record in chosen if (page := _parse_page(record)) and _is_english(page)]
    headings = Counter(
        title for page in pages for title in {_clean_title(t) for t in (page.title, *page.headings)}
    )
    # What stands on every page of a manual (Navigation, See Also) is nobody's title.
    common = max(3, len(pages) // 10)
    titles = [t for t, n in headings.items() if n <= common and 8 <= len(t) <= 70]
    sentences = list(dict.fromkeys(s for page in pages for s in _FULL_SENTENCE.findall(page.text)))
    if len(titles) < _MIN_TITLES:  # a manual in one piece: its short sentences do as well
        titles += [sentence[:-1] for sentence in sentences if len(sentence) <= 60]
    return TopicText("en", _escape_texts(sorted(titles)), _escape_texts(sentences[:_MAX_SENTENCES]))


def _parse_page(record: RecordedResponse) -> Page | None:
    try:
        return parse_body(record.body, Link(Url(record.url)), record.header("content-type"))
    except ParseError:
        return None


def _is_english(page: Page) -> bool:
    return page.language.partition("-")[0] in ("", "en")


def _clean_title(title: str) -> str:
    return _TITLE_EDGES.sub("", " ".join(title.split())).strip()


def _escape_texts(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(escape(" ".join(text.split()), quote=False) for text in texts)


def _foreign_text(language: str) -> TopicText:
    """A book of one language: its common words in any order, with its own stops."""
    words = FOREIGN_WORDS[language].split()
    dice = SeededRandom(0)
    space, stop = ("", "。") if language == "zh" else (" ", ".")

    def phrase(purpose: str, number: int, least: int, most: int) -> str:
        chance = dice.random_stream(f"{language} {purpose}", number).random
        length = least + int(chance() * (most - least + 1))
        return space.join(_pick_item(words, chance()) for _ in range(length)).capitalize()

    titles = tuple(phrase("title", n, 3, 5) for n in range(200))
    return TopicText(language, titles, tuple(phrase("text", n, 9, 20) + stop for n in range(800)))


def _pick_item(items: Sequence[str], chance: float) -> str:
    return items[int(chance * len(items))]
